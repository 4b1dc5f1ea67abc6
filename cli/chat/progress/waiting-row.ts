import type { Terminal } from "../../app/terminal.ts";
import { drawable, prefixWithin } from "../../app/text/text-width.ts";
import type { Progress } from "./progress.ts";

/**
 * The last row of a terminal. It shows the progress, and is removed before anything else is written. Shows nothing when
 * the stream is not a terminal.
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

  /** Shows the progress of a message until `end`. */
  begin(progress: Progress): void {
    this.#progress = progress;
    this.draw();
  }

  /** Shows whether the run is being stopped. */
  stopping(isStopping: boolean): void {
    if (this.#progress) this.#progress.isStopping = isStopping;
    this.draw();
  }

  /** Redraws the row. The cursor must be at the beginning of a row, or in this one. */
  draw(): void {
    const text = this.#progress?.rows().join(" · ") ?? "";
    if (this.#stream.isTTY !== true || text === this.#shown) return;
    this.clear();
    if (text === "") return;
    // A full row would move the cursor to the next one.
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
