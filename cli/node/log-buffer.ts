import { headOf, jsonBytes } from "./truncate.ts";

/** Limits: number of lines, and characters of one line. */
const keptLines = 5000;
const maxLineChars = 2000;

/** The newest 5,000 log lines of a node. `logs.get` reads them. */
export class LogBuffer {
  readonly #lines: string[] = [];

  add(line: string): void {
    this.#lines.push(headOf(line, maxLineChars));
    // Trim 1,000 lines at a time: a shift for each line would move the whole array.
    if (this.#lines.length >= keptLines + 1000) this.#lines.splice(0, this.#lines.length - keptLines);
  }

  /**
   * Returns up to `count` newest lines within `maxBytes` of JSON, oldest first. `truncated`: some did not
   * fit.
   */
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
