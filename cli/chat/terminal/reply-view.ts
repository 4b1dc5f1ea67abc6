import { drawable } from "../../app/text/text-width.ts";
import type { Layout } from "./markdown.ts";
import type { Flowing } from "./screen.ts";

/**
 * A reply that is being written, laid out block by block. The rows of a complete block do not change any more. Of a block
 * that is longer than the screen, those that no longer fit count as complete.
 */
export class ReplyView implements Flowing {
  readonly #layout: Layout;
  #text = "";
  /** Rows of the first block of `#text` that were returned as done. */
  #given = 0;
  #isComplete = false;

  constructor(layout: Layout) {
    this.#layout = layout;
  }

  /** Whether nothing is shown. */
  get isEmpty(): boolean {
    return this.#text === "" && this.#given === 0;
  }

  /** Adds text of others. */
  add(text: string): void {
    this.#text += drawable(text);
  }

  /** No text follows: all rows are done at the next call of `flow`. */
  complete(): void {
    this.#isComplete = true;
  }

  flow(columns: number, most: number): { done: string[]; live: string[] } {
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
    const given = Math.max(this.#given, rows.length - most);
    done.push(...rows.slice(this.#given, given));
    this.#given = Math.min(given, rows.length);
    return { done, live: rows.slice(this.#given) };
  }
}
