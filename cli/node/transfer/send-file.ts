import { createHash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import { explainFaults, inspectFile } from "../files/node-files.ts";
import type { PartLink } from "./part-link.ts";

/** The name under which errors of a source's file are told. */
const tool = "send";

/** Size of a file that is to be sent. @throws Error for a folder, a device, and what is missing or cannot be read */
export async function describeFile(path: string): Promise<{ size: number }> {
  const { size } = await inspectFile(tool, path);
  return { size };
}

/**
 * Stores the parts of a file from number `stored` on, with one of them in memory. The parts before it were stored by an
 * earlier attempt, and are read for the SHA-256 alone.
 * @returns the SHA-256 of the whole file, in hex
 * @throws Error when the file changes meanwhile or cannot be read
 */
export async function sendFile(
  path: string,
  { size, partBytes, stored }: { size: number; partBytes: number; stored: number },
  link: Pick<PartLink, "store">,
): Promise<string> {
  return explainFaults(tool, path, async () => {
    const file = await open(path, "r");
    try {
      const before = await file.stat();
      const hash = createHash("sha256");
      const buffer = Buffer.allocUnsafeSlow(Math.min(partBytes, size));
      for (let part = 0; part * partBytes < size; part++) {
        const bytes = buffer.subarray(0, Math.min(partBytes, size - part * partBytes));
        await readFully(file, bytes, part * partBytes, path);
        hash.update(bytes);
        if (part >= stored) await link.store(part, bytes);
      }
      const after = await file.stat();
      if (after.size !== size || after.mtimeMs !== before.mtimeMs) throw changed(path);
      return hash.digest("hex");
    } finally {
      await file.close();
    }
  });
}

async function readFully(file: FileHandle, into: Buffer, position: number, path: string): Promise<void> {
  for (let at = 0; at < into.byteLength; ) {
    const { bytesRead } = await file.read(into, at, into.byteLength - at, position + at);
    if (bytesRead === 0) throw changed(path);
    at += bytesRead;
  }
}

function changed(path: string): Error {
  return new Error(`${tool}: ${path} has changed while it was sent`);
}
