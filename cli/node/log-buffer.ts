import { headOf, jsonBytes } from "./text-ends.ts";

/** Lines kept, and characters of one line. */
const keptLines = 5000;
const mostLineChars = 2000;

/** The newest 5,000 log lines of a node, which `logs.get` asks for. */
export class LogBuffer {
  readonly #lines: string[] = [];

  add(line: string): void {
    this.#lines.push(headOf(line, mostLineChars));
    // Trimmed a thousand at a time: a shift for each line would move the whole array.
    if (this.#lines.length >= keptLines + 1000) this.#lines.splice(0, this.#lines.length - keptLines);
  }

  /** The newest `count` lines that fit into `maxBytes` of JSON, oldest first. `truncated`: fewer than asked for fitted. */
  newest(count: number, maxBytes: number): { lines: string[]; truncated: boolean } {
    const wanted = this.#lines.slice(-Math.min(count, keptLines));
    let bytes = 0;
    let first = wanted.length;
    while (first > 0) {
      bytes += jsonBytes(wanted[first - 1]) + 1;
      if (bytes > maxBytes) break;
      first--;
    }
    return { lines: wanted.slice(first), truncated: first > 0 };
  }
}
