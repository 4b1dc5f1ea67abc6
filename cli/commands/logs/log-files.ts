import { open, readFile, stat } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

/** Interval between reads of a followed log, in milliseconds. */
const readEveryMs = 250;

/** Returns the newest lines of a log file, and the file's size in bytes. A missing file is empty. */
export async function newestLines(file: string, maxLines: number): Promise<{ lines: string[]; end: number }> {
  const bytes = await readFile(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return Buffer.alloc(0);
    throw error;
  });
  const lines = bytes.toString("utf8").split("\n");
  if (lines.at(-1) === "") lines.pop();
  return { lines: lines.slice(-maxLines), end: bytes.length };
}

/**
 * Passes new content of a log file to `write`, from byte `start` on, until `ended` resolves. When the log is rotated, the
 * old file is read to its end first.
 */
export async function followLog(
  file: string,
  start: number,
  write: (text: string) => void,
  ended: Promise<unknown>,
): Promise<void> {
  let isOver = false;
  const over = ended.then(() => {
    isOver = true;
  });
  for (let position = start; !isOver; position = 0) {
    const handle = await open(file).catch(() => undefined);
    if (handle === undefined) {
      await Promise.race([sleep(readEveryMs), over]);
      continue;
    }
    try {
      const { ino } = await handle.stat();
      for (let isReplaced = false; ; ) {
        const { bytesRead, buffer } = await handle.read({ position, buffer: Buffer.alloc(64 * 1024) });
        if (bytesRead > 0) write(buffer.toString("utf8", 0, bytesRead));
        position += bytesRead;
        if (isOver || (isReplaced && bytesRead === 0)) break;
        if (bytesRead > 0) continue;
        await Promise.race([sleep(readEveryMs), over]);
        isReplaced = (await stat(file).catch(() => undefined))?.ino !== ino;
      }
    } finally {
      await handle.close();
    }
  }
}

/** Returns a function that accepts chunks of text, and calls `onLine` with each complete line without its line break. */
export function byLine(onLine: (line: string) => void): (text: string) => void {
  let rest = "";
  return (text) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) onLine(line);
  };
}
