import { appendFileSync, mkdirSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";

const mostBytes = 10 * 1024 * 1024;

/**
 * A log file for each name under `dir`, one line a call. A file that has reached 10 MB becomes `{name}.log.1` at the
 * next start, and the one before it is dropped. The lines of one turn of the event loop are written together at its end,
 * or when the process exits. Lines that cannot be written, because the disk is full, are lost.
 */
export function openLogs(dir: string): (name: string, line: string) => void {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const waiting = new Map<string, string>();
  const opened = new Set<string>();
  const flush = () => {
    process.off("exit", flush);
    for (const [name, lines] of waiting) {
      try {
        const file = join(dir, `${name}.log`);
        if (!opened.has(name)) rotate(file);
        opened.add(name);
        appendFileSync(file, lines, { mode: 0o600 });
      } catch {
        // The log is the only place where this could be said.
      }
    }
    waiting.clear();
  };
  return (name, line) => {
    if (waiting.size === 0) {
      setImmediate(flush);
      process.once("exit", flush);
    }
    waiting.set(name, `${waiting.get(name) ?? ""}${line}\n`);
  };
}

function rotate(file: string): void {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size >= mostBytes) renameSync(file, `${file}.1`);
}
