import { tailOf } from "../text-ends.ts";

/** Number of characters kept from the end of a command's output. */
export const keptOutputChars = 200_000;

/** The last 200,000 characters of a command's output. */
export class OutputTail {
  #text = "";
  #total = 0;
  #read = 0;

  append(chunk: string): void {
    this.#total += chunk.length;
    this.#text += chunk;
    // Trim at twice the size, so that the cost is spread over many chunks.
    if (this.#text.length > 2 * keptOutputChars) this.#text = tailOf(this.#text, keptOutputChars);
  }

  get text(): string {
    return tailOf(this.#text, keptOutputChars);
  }

  /** Whether the beginning of the output was dropped. */
  get truncated(): boolean {
    return this.#total > keptOutputChars;
  }

  /** Returns the output since the last call. `missed`: the beginning of it was dropped. */
  readNew(): { text: string; missed: boolean } {
    const count = this.#total - this.#read;
    this.#read = this.#total;
    return count === 0
      ? { text: "", missed: false }
      : { text: tailOf(this.text, count), missed: count > keptOutputChars };
  }
}
