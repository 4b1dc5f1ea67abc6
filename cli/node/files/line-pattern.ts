import { createContext, Script } from "node:vm";

/**
 * Time limit of a pattern for one batch of lines, ms. Catastrophic backtracking would otherwise block the
 * node.
 */
const batchMs = 1000;

const searchScript = new Script(
  "lines.flatMap((line, index) => { const found = pattern.exec(line); return found ? [[index, found.index]] : []; })",
);

/** An untrusted regular expression that is matched against lines. Its running time is bounded. */
export class LinePattern {
  readonly #scope: { pattern: RegExp; lines: string[] };

  /**
   * `(?i)` at the beginning of `source` ignores case.
   * @throws Error when it is not a JavaScript regular expression
   */
  constructor(source: string) {
    const ignoreCase = source.startsWith("(?i)");
    try {
      const pattern = new RegExp(ignoreCase ? source.slice(4) : source, ignoreCase ? "i" : "");
      this.#scope = createContext({ pattern, lines: [] }) as { pattern: RegExp; lines: string[] };
    } catch (error) {
      throw new Error(`Grep: pattern is not a regular expression: ${(error as Error).message}`);
    }
  }

  /**
   * Returns index and column of each match, both counted from 0.
   * @throws Error when it takes more than 1 second
   */
  search(lines: string[], file: string): { index: number; column: number }[] {
    try {
      // Only the timeout of node:vm can interrupt a running match.
      this.#scope.lines = lines;
      const found: [number, number][] = searchScript.runInContext(this.#scope, { timeout: batchMs });
      return Array.from(found, ([index, column]) => ({ index, column }));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error;
      throw new Error(`Grep: the pattern takes too long on ${file}; write it with less repetition`);
    }
  }
}
