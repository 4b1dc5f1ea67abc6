import { drawable } from "../../app/text-width.ts";
import type { Layout } from "./markdown.ts";
import type { Flowing } from "./screen.ts";

/**
 * A streaming reply, laid out block by block. The rows of a complete block are final. When a block is longer than the
 * screen, its rows that no longer fit also count as final.
 */
export class ReplyView implements Flowing {
  readonly #layout: Layout;
  #text = "";
  /** Number of rows of the first block of `#text` that were returned as done. */
  #given = 0;
  #isComplete = false;

  constructor(layout: Layout) {
    this.#layout = layout;
  }

  /** Whether nothing is shown. */
  get isEmpty(): boolean {
    return this.#text === "" && this.#given === 0;
  }

  /** Adds untrusted text. */
  add(text: string): void {
    this.#text += drawable(text);
  }

  /** Marks the reply as complete: the next call of `flow` returns all rows as done. */
  complete(): void {
    this.#isComplete = true;
  }

  flow(columns: number, maxLive: number): { done: string[]; live: string[] } {
    const done: string[] = [];
    const blocks = this.#layout.blocksOf(this.#text);
    const last = this.#isComplete ? "" : (blocks.pop() ?? "");
    for (const block of blocks) {
      done.push(...this.#layout.rowsOf(block, columns).slice(this.#given));
      this.#given = 0;
    }
    this.#text = last;
    if (last === "") return { done, live: [] };
    const rows = this.#layout.rowsOf(last, columns);
    const given = Math.max(this.#given, rows.length - maxLive);
    done.push(...rows.slice(this.#given, given));
    this.#given = Math.min(given, rows.length);
    return { done, live: rows.slice(this.#given) };
  }
}
