import type { Terminal } from "../../app/terminal.ts";
import { drawable, prefixWithin } from "../../app/text/text-width.ts";
import type { Progress } from "./progress.ts";

/**
 * The last row of a terminal. It shows what is waited for, and is removed before anything else is written. Where there
 * is no terminal it shows nothing.
 */
export class WaitingRow {
  readonly #stream: Terminal["stderr"];
  readonly #style: (text: string) => string;
  #progress: Progress | undefined;
  #shown = "";

  constructor(stream: Terminal["stderr"], style: (text: string) => string = String) {
    this.#stream = stream;
    this.#style = style;
  }

  /** Shows how it goes with a message from now on. */
  begin(progress: Progress): void {
    this.#progress = progress;
    this.draw();
  }

  /** Shows that the user has asked to stop what is waited for, or that it goes on nevertheless. */
  stopping(isStopping: boolean): void {
    if (this.#progress) this.#progress.isStopping = isStopping;
    this.draw();
  }

  /** Draws the row anew. The cursor must be at the beginning of a row, or in this one. */
  draw(): void {
    const text = this.#progress?.rows().join(" · ") ?? "";
    if (this.#stream.isTTY !== true || text === this.#shown) return;
    this.clear();
    if (text === "") return;
    // A row that is full would move the cursor to the next one.
    const row = prefixWithin(drawable(text).replaceAll("\n", " "), (this.#stream.columns ?? 80) - 1);
    this.#stream.write(this.#style(row));
    this.#shown = text;
  }

  /** Removes the row, until it is drawn again. */
  clear(): void {
    if (this.#shown !== "") this.#stream.write("\r\u001b[K");
    this.#shown = "";
  }

  /** Removes the row: the message has its outcome. */
  end(): void {
    this.#progress = undefined;
    this.clear();
  }
}
