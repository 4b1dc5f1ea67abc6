import { createReadStream } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import { headOf } from "../truncate.ts";

/** Number of bytes at the start of a file that are used to detect its type. */
const sampleBytes = 8192;

const faults: Record<string, string> = {
  ENOENT: "no such file or folder",
  EACCES: "permission denied",
  EPERM: "permission denied",
  EISDIR: "is a folder",
  ENOTDIR: "a part of the path is not a folder",
  ENOSPC: "no space left on the disk",
  EROFS: "the file system is read-only",
  ENAMETOOLONG: "the path is too long",
  ELOOP: "too many symbolic links",
};

/** Runs a file operation. A system error becomes an Error such as `Read: /a/b: no such file or folder`. */
export async function explainFaults<T>(tool: string, path: string, operation: () => Promise<T>): Promise<T> {
  try {
    return await operation();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new Error(`${tool}: ${path}: ${faults[code] ?? message}`);
  }
}

/**
 * Size and first 8 KB of a regular file. Throws for folders, and for devices and pipes, whose reads may never
 * end.
 */
export async function inspectFile(tool: string, path: string): Promise<{ size: number; sample: Buffer }> {
  return explainFaults(tool, path, async () => {
    const stats = await stat(path);
    if (stats.isDirectory()) throw new Error(`${tool}: ${path} is a folder`);
    if (!stats.isFile()) throw new Error(`${tool}: ${path} is not a regular file`);
    const file = await open(path, "r");
    try {
      return { size: stats.size, sample: await readStart(file) };
    } finally {
      await file.close();
    }
  });
}

async function readStart(file: FileHandle): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(sampleBytes), 0, sampleBytes, 0);
  return buffer.subarray(0, bytesRead);
}

/** Whether the sample contains a NUL byte, which text does not. */
export function isBinary(sample: Buffer): boolean {
  return sample.includes(0);
}

/**
 * Reads the lines of a text file in batches, without line feeds. Needs about 64 KB of memory for a file of any
 * size. A line longer than `maxLineChars` characters is shortened and ends in an ellipsis.
 */
export async function* lineBatches(path: string, maxLineChars: number): AsyncGenerator<string[]> {
  // Of an unfinished line, keep one character more than is shown: it marks the line as too long.
  const shorten = (line: string): string =>
    line.length > maxLineChars ? `${headOf(line, maxLineChars)}…` : line;
  let unfinished = "";
  for await (const chunk of createReadStream(path, { encoding: "utf8" })) {
    const lines = (unfinished + (chunk as string)).split("\n");
    unfinished = (lines.pop() ?? "").slice(0, maxLineChars + 1);
    yield lines.map(shorten);
  }
  if (unfinished !== "") yield [shorten(unfinished)];
}

/** Runs changes of one file one after the other, in call order, because tool calls of one batch run concurrently. */
export class FileQueues {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs `change` after all earlier changes of `path` have ended. */
  run<T>(path: string, change: () => Promise<T>): Promise<T> {
    const previous = this.#last.get(path) ?? Promise.resolve();
    const next = previous.then(change, change);
    this.#last.set(path, next);
    const forget = (): void => {
      if (this.#last.get(path) === next) this.#last.delete(path);
    };
    next.then(forget, forget);
    return next;
  }
}
