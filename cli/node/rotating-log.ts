import { appendFileSync, mkdirSync, renameSync, statSync } from "node:fs";
import { dirname } from "node:path";

/** Size above which a log file is put aside, in bytes. */
const defaultMostBytes = 5 * 1024 * 1024;

/**
 * Returns a function that appends one line to a log file. A file above `mostBytes` is renamed to `{file}.1`, and that to
 * `{file}.2`, which is the oldest one that is kept. Lines are lost when the disk is full.
 */
export function openRotatingLog(file: string, mostBytes = defaultMostBytes): (line: string) => void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  let bytes = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  return (line) => {
    try {
      if (bytes >= mostBytes) {
        if (statSync(`${file}.1`, { throwIfNoEntry: false })) renameSync(`${file}.1`, `${file}.2`);
        renameSync(file, `${file}.1`);
        bytes = 0;
      }
      appendFileSync(file, `${line}\n`, { mode: 0o600 });
      bytes += Buffer.byteLength(line) + 1;
    } catch {
      // A failed log write cannot be logged.
    }
  };
}
