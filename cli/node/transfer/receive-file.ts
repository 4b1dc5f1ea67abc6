import { createHash } from "node:crypto";
import type { Stats } from "node:fs";
import { chmod, type FileHandle, mkdir, open, realpath, rename, rm, stat, statfs } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { sizeText } from "../../../shared/runtime/size-text.ts";
import { explainFaults } from "../files/node-files.ts";
import type { PartLink } from "./part-link.ts";

/** Prefix of error messages about the destination file. */
const tool = "receive";

/** Only the owner may read an incomplete file: the file that it replaces may be secret. */
const partMode = 0o600;

/** Mode of a new file. Computed once, because reading the umask changes it for a moment. */
const newFileMode = 0o666 & ~process.umask();

interface IncomingFile {
  transferId: number;
  /** Absolute path of the destination. */
  path: string;
  /** Bytes. */
  size: number;
}

/** Free bytes of the disk that holds a folder. */
export type FreeBytes = (folder: string) => Promise<number>;

const freeBytesOf: FreeBytes = async (folder) => {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
};

/**
 * Creates the folders of a file and, next to it, an empty file for the received parts.
 * @throws Error when the path is not a regular file or not writable, or the disk has not enough space
 */
export async function prepareFile(file: IncomingFile, freeBytes: FreeBytes = freeBytesOf): Promise<void> {
  await explainFaults(tool, file.path, async () => {
    const target = await targetOf(file.path);
    await makeFolders(dirname(target));
    const free = await freeBytes(dirname(target));
    if (free < file.size)
      throw new Error(
        `${tool}: ${file.path}: not enough space: the file has ${sizeText(file.size)}, but only ${sizeText(free)} are free`,
      );
    await (await open(partPath(target, file.transferId), "a", partMode)).close();
  });
}

/**
 * Receives a file, with one part in memory. Complete parts of an earlier attempt are kept. The file appears under its
 * name only after it is complete, flushed to the disk, and its SHA-256 is verified.
 * @returns the size of the file in bytes
 * @throws Error when the file cannot be written or its SHA-256 differs
 */
export async function receiveFile(
  { transferId, path, size, partBytes, sha256 }: IncomingFile & { partBytes: number; sha256: string },
  link: Pick<PartLink, "fetch">,
): Promise<number> {
  return explainFaults(tool, path, async () => {
    const target = await targetOf(path);
    const part = partPath(target, transferId);
    // An earlier attempt may have finished the file but died before it reported this.
    if ((await statOf(part)) === undefined && (await holds(target, size, partBytes, sha256))) return size;
    const file = await open(part, "a", partMode).then(async (made) => {
      await made.close();
      return open(part, "r+");
    });
    try {
      const kept = Math.floor(Math.min((await file.stat()).size, size) / partBytes);
      let found = await writeParts(file, { size, partBytes, kept }, link);
      // Fetch everything again: a power failure may have lost pages of the kept parts.
      if (found !== sha256 && kept > 0) found = await writeParts(file, { size, partBytes, kept: 0 }, link);
      if (found !== sha256) throw new Error(`${tool}: ${path}: the SHA-256 differs from that of the source`);
      await file.truncate(size);
      await file.sync();
    } finally {
      await file.close();
    }
    const replaced = await statOf(target);
    await chmod(part, replaced ? replaced.mode & 0o777 : newFileMode);
    await rename(part, target);
    await syncFolder(dirname(target));
    return size;
  });
}

/** Removes the partial file of an aborted transfer. */
export async function dropPartial({
  transferId,
  path,
}: Pick<IncomingFile, "transferId" | "path">): Promise<void> {
  await rm(partPath(await targetOf(path).catch(() => path), transferId), { force: true }).catch(() => {});
}

/**
 * Writes the parts from number `kept` on. All parts use one buffer; with a buffer per part, several would await garbage
 * collection at a time.
 * @returns the SHA-256 of all parts, in hex
 */
async function writeParts(
  file: FileHandle,
  { size, partBytes, kept }: { size: number; partBytes: number; kept: number },
  link: Pick<PartLink, "fetch">,
): Promise<string> {
  const hash = createHash("sha256");
  const buffer = Buffer.allocUnsafeSlow(Math.min(partBytes, size));
  for (let part = 0; part * partBytes < size; part++) {
    const at = part * partBytes;
    if (part < kept) {
      const { bytesRead } = await file.read(buffer, 0, partBytes, at);
      hash.update(buffer.subarray(0, bytesRead));
      continue;
    }
    const bytes = buffer.subarray(0, Math.min(partBytes, size - at));
    await link.fetch(part, bytes);
    hash.update(bytes);
    for (let written = 0; written < bytes.byteLength; )
      written += (await file.write(bytes, written, bytes.byteLength - written, at + written)).bytesWritten;
  }
  return hash.digest("hex");
}

/**
 * Creates a folder and its parents. Does not use `recursive` of Node.js, which loops forever on a file system such as
 * /proc that answers ENOENT although the parent exists.
 */
async function makeFolders(folder: string): Promise<void> {
  if ((await statOf(folder))?.isDirectory()) return;
  if (dirname(folder) !== folder) await makeFolders(dirname(folder));
  await mkdir(folder).catch((error: NodeJS.ErrnoException) => {
    // Another transfer has created it meanwhile. If it is a file, writing the parts fails.
    if (error.code !== "EEXIST") throw error;
  });
}

/** Resolves symbolic links of a path. @throws Error when it exists and is not a regular file */
async function targetOf(path: string): Promise<string> {
  const target = await realpath(path).catch(() => path);
  const stats = await statOf(target);
  if (stats?.isDirectory()) throw new Error(`${tool}: ${path} is a folder; name the file in it`);
  if (stats && !stats.isFile()) throw new Error(`${tool}: ${path} is not a regular file`);
  return target;
}

/** The partial file, next to the target. Long names are shortened, because file systems limit names to 255 bytes. */
function partPath(target: string, transferId: number): string {
  const name = [...basename(target)].slice(0, 40).join("");
  return join(dirname(target), `.${name}.${transferId}.gsv-part`);
}

/** The file's status; undefined when the file is missing or inaccessible. */
async function statOf(path: string): Promise<Stats | undefined> {
  return stat(path).catch(() => undefined);
}

async function holds(path: string, size: number, partBytes: number, sha256: string): Promise<boolean> {
  if ((await statOf(path))?.size !== size) return false;
  const file = await open(path, "r");
  try {
    const hash = createHash("sha256");
    const buffer = Buffer.allocUnsafeSlow(partBytes);
    for (;;) {
      const { bytesRead } = await file.read(buffer, 0, partBytes);
      if (bytesRead === 0) return hash.digest("hex") === sha256;
      hash.update(buffer.subarray(0, bytesRead));
    }
  } finally {
    await file.close();
  }
}

/** Writes a folder's entries to the disk, so that the new name survives a power failure. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  await handle.sync().finally(() => handle.close());
}
