import { createContext, Script } from "node:vm";

/** How long a pattern may work on one batch of lines, ms. A pattern that backtracks without end would stop the node. */
const batchMs = 1000;

const searchScript = new Script(
  "lines.flatMap((line, index) => { const found = pattern.exec(line); return found ? [[index, found.index]] : []; })",
);

/** A regular expression for lines, from a model: it is checked, and its running time is bounded. */
export class LinePattern {
  readonly #scope: { pattern: RegExp; lines: string[] };

  /** @throws Error when it is not a JavaScript regular expression. `(?i)` at its beginning ignores case. */
  constructor(source: string) {
    const ignoreCase = source.startsWith("(?i)");
    try {
      const pattern = new RegExp(ignoreCase ? source.slice(4) : source, ignoreCase ? "i" : "");
      this.#scope = createContext({ pattern, lines: [] }) as { pattern: RegExp; lines: string[] };
    } catch (error) {
      throw new Error(`Grep: pattern is not a regular expression: ${(error as Error).message}`);
    }
  }

  /** The matching lines with the column of the match, both counted from 0. Throws when it takes over a second. */
  search(lines: string[], file: string): { index: number; column: number }[] {
    try {
      // Only the interpreter's watchdog can end a match that does not end by itself.
      this.#scope.lines = lines;
      const found: [number, number][] = searchScript.runInContext(this.#scope, { timeout: batchMs });
      return Array.from(found, ([index, column]) => ({ index, column }));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error;
      throw new Error(`Grep: the pattern takes too long on ${file}; write it with less repetition`);
    }
  }
}
