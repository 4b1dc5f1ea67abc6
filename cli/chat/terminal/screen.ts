import type { Writable } from "node:stream";
import { truncateToWidth, visibleWidth, wrapTextWithAnsi } from "@earendil-works/pi-tui";

/** The rows of the prompt, and the position of the cursor in them, counted from 0. */
export interface PromptRows {
  rows: string[];
  cursor: { row: number; column: number };
}

/** Text that is still streaming. */
export interface Flowing {
  /**
   * Lays the text out in rows. `done`: final rows, each returned once. `live`: the following rows, at most `maxLive`,
   * which may still change.
   */
  flow(columns: number, maxLive: number): { done: string[]; live: string[] };
}

/** The assumed size of a terminal that does not report it, in characters. */
const unknownSize = { columns: 80, rows: 24 };
/** The layout assumes at least this size. */
const minSize = { columns: 20, rows: 6 };

/**
 * A terminal whose last rows are redrawn at each change: streaming text, status rows, and the prompt. Printed lines go
 * above them and remain in the terminal's scrollback.
 */
export class Screen {
  readonly #output: Writable & { columns?: number; rows?: number };
  readonly #prompt: (columns: number) => PromptRows;
  readonly #dim: (text: string) => string;
  #flowing: Flowing | undefined;
  #status = "";
  /** The rows that will be redrawn, and the position of the cursor in them. */
  #drawn: string[] = [];
  #cursor = { row: 0, column: 0 };
  /** Lines to print at the next draw. */
  #printed: string[] = [];
  /** Max number of live rows of streaming text, as of the last draw. */
  #maxLive = 1;
  /** Another program uses the terminal. */
  #isHeld = false;
  /** The scheduled draw. It shows all changes made before it. */
  #next: NodeJS.Immediate | undefined;

  /** `prompt` lays the prompt out; `dim` styles the status rows. */
  constructor(
    output: Writable & { columns?: number; rows?: number },
    prompt: (columns: number) => PromptRows,
    dim: (text: string) => string,
  ) {
    this.#output = output;
    this.#prompt = prompt;
    this.#dim = dim;
  }

  get columns(): number {
    return Math.max(minSize.columns, this.#output.columns ?? unknownSize.columns);
  }

  get rows(): number {
    return Math.max(minSize.rows, this.#output.rows ?? unknownSize.rows);
  }

  /**
   * Prints lines, which may contain styles. Long lines are wrapped between words. The caller must make untrusted text
   * `drawable`.
   */
  print(text: string): void {
    this.#settle();
    this.#printed.push(...text.split("\n").flatMap((line) => wrapTextWithAnsi(line, this.columns - 1)));
    this.redraw();
  }

  /** Shows streaming text. The final rows of the previous text are printed above it. */
  show(flowing: Flowing | undefined): void {
    if (flowing !== this.#flowing) this.#settle();
    this.#flowing = flowing;
    this.redraw();
  }

  /** Sets the status rows above the prompt. Empty text removes them. */
  status(text: string): void {
    if (text === this.#status) return;
    this.#status = text;
    this.redraw();
  }

  /**
   * Schedules a draw, one for all changes of this turn of the event loop. A new size of the terminal is known only at the
   * end of a turn; a row drawn earlier could be too long.
   */
  redraw(): void {
    if (!this.#isHeld) this.#next ??= setImmediate(() => this.#draw());
  }

  /** Redraws after the terminal's size has changed. The terminal has wrapped drawn rows that were too long. */
  resized(): void {
    const { row, column } = this.#cursor;
    const wrapped = this.#drawn.slice(0, row).map((line) => this.#rowsOf(visibleWidth(line)) - 1);
    this.#cursor = {
      row: row + wrapped.reduce((sum, more) => sum + more, 0) + Math.floor(column / this.columns),
      column,
    };
    this.#drawn = [];
    this.redraw();
  }

  /** Erases the drawn rows and stops drawing until `resume`, because another program uses the terminal. */
  pause(): void {
    if (this.#isHeld) return;
    this.#draw();
    this.#output.write(this.#erasing);
    this.#isHeld = true;
  }

  /** As `pause`, without erasing: another program has already used the terminal, so the position is unknown. */
  lose(): void {
    clearImmediate(this.#next);
    this.#next = undefined;
    this.#isHeld = true;
  }

  /** Draws again, from the row of the cursor, including lines printed since `pause`. */
  resume(): void {
    this.#isHeld = false;
    this.#drawn = [];
    this.#cursor = { row: 0, column: 0 };
    this.redraw();
  }

  /** Clears the terminal and draws at its top. */
  clear(): void {
    this.#output.write("\u001b[H");
    this.#drawn = [];
    this.#cursor = { row: 0, column: 0 };
    this.redraw();
  }

  /** Stops drawing. The printed lines and the prompt remain, with the cursor below them. */
  end(): void {
    if (this.#isHeld) return;
    this.#draw();
    this.#output.write("\n".repeat(this.#drawn.length - this.#cursor.row));
    this.#isHeld = true;
  }

  /** Prints the final rows of the streaming text. */
  #settle(): void {
    const { done } = this.#flowing?.flow(this.columns - 1, this.#maxLive) ?? { done: [] };
    this.#printed.push(...done);
  }

  #rowsOf(width: number): number {
    return Math.max(1, Math.ceil(width / this.columns));
  }

  /** Erases the drawn rows: moves to the first one and clears everything below. */
  get #erasing(): string {
    return `${rowsUp(this.#cursor.row)}\r\u001b[J`;
  }

  #draw(): void {
    clearImmediate(this.#next);
    this.#next = undefined;
    const prompt = this.#prompt(this.columns);
    const status = this.#status
      .split("\n")
      .filter((row) => row !== "")
      .map((row) => this.#dim(truncateToWidth(row, this.columns - 1, "…")));
    // One row stays free, so that the rows to redraw do not scroll out of reach.
    this.#maxLive = Math.max(1, this.rows - prompt.rows.length - status.length - 1);
    const { done, live } = this.#flowing?.flow(this.columns - 1, this.#maxLive) ?? { done: [], live: [] };
    const start = this.#erasing;
    const lines = [...this.#printed, ...done].map((line) => `${line}\n`);
    this.#printed = [];
    const above = [...live, ...status];
    this.#drawn = [...above, ...prompt.rows];
    this.#cursor = { row: above.length + prompt.cursor.row, column: prompt.cursor.column };
    const toCursor = `${rowsUp(this.#drawn.length - 1 - this.#cursor.row)}\u001b[${this.#cursor.column + 1}G`;
    // Write everything at once, so that a terminal seldom shows a partial frame.
    this.#output.write(`${holdOn}${start}${lines.join("")}${this.#drawn.join("\n")}${toCursor}${holdOff}`);
  }
}

/** Synchronized output: a terminal that supports it shows nothing until `holdOff`. */
const holdOn = "\u001b[?2026h";
const holdOff = "\u001b[?2026l";

function rowsUp(count: number): string {
  return count > 0 ? `\u001b[${count}A` : "";
}
