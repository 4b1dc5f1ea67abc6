import { appendFileSync, mkdirSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";

const maxBytes = 10 * 1024 * 1024;

/**
 * Returns a function that appends one line to the log file of a name under `dir`. At the next start, a file
 * above 10 MB is renamed to `{name}.log.1`, which replaces the older one. Lines are buffered until the end of
 * the event loop's turn or the exit of the process. Lines are lost when the disk is full.
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
        // A failed log write cannot be logged.
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
  if (size >= maxBytes) renameSync(file, `${file}.1`);
}
