import { appendFileSync, mkdirSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";

const mostBytes = 10 * 1024 * 1024;

/**
 * A log file for each name under `dir`, one line a call. A file that has reached 10 MB becomes `{name}.log.1` at the
 * next start, and the one before it is dropped. Written at once, so that a crash keeps the lines that led to it.
 */
export function openLogs(dir: string): (name: string, line: string) => void {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const opened = new Set<string>();
  return (name, line) => {
    const file = join(dir, `${name}.log`);
    if (!opened.has(name)) {
      opened.add(name);
      const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
      if (size >= mostBytes) renameSync(file, `${file}.1`);
    }
    appendFileSync(file, `${line}\n`, { mode: 0o600 });
  };
}
