import { tailOf } from "../text-ends.ts";

/** Characters of a command's output that are kept: its end. */
export const keptOutputChars = 200_000;

/** What a command printed, of which the last 200,000 characters are kept. */
export class OutputTail {
  #text = "";
  #total = 0;
  #read = 0;

  append(chunk: string): void {
    this.#total += chunk.length;
    this.#text += chunk;
    // Trimmed at twice the size, so that the cost of a cut is spread over many chunks.
    if (this.#text.length > 2 * keptOutputChars) this.#text = tailOf(this.#text, keptOutputChars);
  }

  get text(): string {
    return tailOf(this.#text, keptOutputChars);
  }

  /** Whether the beginning of the output is gone. */
  get truncated(): boolean {
    return this.#total > keptOutputChars;
  }

  /** What was printed since the last call; `missed` when the beginning of that is gone. */
  readNew(): { text: string; missed: boolean } {
    const count = this.#total - this.#read;
    this.#read = this.#total;
    return count === 0
      ? { text: "", missed: false }
      : { text: tailOf(this.text, count), missed: count > keptOutputChars };
  }
}
