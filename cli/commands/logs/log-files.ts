import { open, readFile, stat } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

/** How often a followed log is read, in milliseconds. */
const readEveryMs = 250;

/** The newest lines of a log file, and the byte behind them. A missing file is empty. */
export async function newestLines(file: string, most: number): Promise<{ lines: string[]; end: number }> {
  const bytes = await readFile(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return Buffer.alloc(0);
    throw error;
  });
  const lines = bytes.toString("utf8").split("\n");
  if (lines.at(-1) === "") lines.pop();
  return { lines: lines.slice(-most), end: bytes.length };
}

/**
 * Passes on what is written to a log file from byte `start` on, until `ended` resolves. A file that is replaced by a
 * new one, as when the log is rotated, is read to its end first.
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

/** Passes on each complete line of a text that comes in pieces, without its line break. */
export function byLine(take: (line: string) => void): (text: string) => void {
  let rest = "";
  return (text) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) take(line);
  };
}
