import { appendFileSync, mkdirSync, renameSync, statSync } from "node:fs";
import { dirname } from "node:path";

/** Size above which a log file is rotated, in bytes. */
const defaultMaxBytes = 5 * 1024 * 1024;

/**
 * Returns a function that appends one line to a log file. A file above `maxBytes` is renamed to `{file}.1`, and that one to
 * `{file}.2`, the oldest one kept. Lines are lost when the disk is full.
 */
export function openRotatingLog(file: string, maxBytes = defaultMaxBytes): (line: string) => void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  let bytes = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  return (line) => {
    try {
      if (bytes >= maxBytes) {
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
