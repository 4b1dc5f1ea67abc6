import type { Writable } from "node:stream";
import { truncateToWidth, visibleWidth, wrapTextWithAnsi } from "@earendil-works/pi-tui";

/** The rows of the prompt, and the place of the cursor in them, counted from 0. */
export interface PromptRows {
  rows: string[];
  cursor: { row: number; column: number };
}

/** Text that is still being written. */
export interface Flowing {
  /**
   * Lays the text out in rows. `done`: rows that do not change any more, each returned once. `live`: the rows after
   * them, at most `most`; they may change.
   */
  flow(columns: number, most: number): { done: string[]; live: string[] };
}

/** The size of a terminal that does not tell it, in characters. */
const unknownSize = { columns: 80, rows: 24 };
/** Fewest columns and rows that are drawn for. */
const least = { columns: 20, rows: 6 };

/**
 * A terminal whose last rows are drawn anew at each change: text that is being written, status rows, and the prompt.
 * What is printed goes above them and stays, in the terminal's own scrollback.
 */
export class Screen {
  readonly #output: Writable & { columns?: number; rows?: number };
  readonly #prompt: (columns: number) => PromptRows;
  readonly #dim: (text: string) => string;
  #flowing: Flowing | undefined;
  #status = "";
  /** The rows that are drawn for now, and the place of the cursor in them. */
  #drawn: string[] = [];
  #cursor = { row: 0, column: 0 };
  /** Lines to print at the next draw. */
  #printed: string[] = [];
  /** Most rows of text that is being written, as of the last draw. */
  #most = 1;
  /** Another program has the terminal. */
  #isHeld = false;
  /** The next draw, which shows all that has changed until then. */
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
    return Math.max(least.columns, this.#output.columns ?? unknownSize.columns);
  }

  get rows(): number {
    return Math.max(least.rows, this.#output.rows ?? unknownSize.rows);
  }

  /**
   * Prints lines as they are, because they may hold styles; long ones are wrapped at words. The caller makes the text of
   * others `drawable`.
   */
  print(text: string): void {
    this.#settle();
    this.#printed.push(...text.split("\n").flatMap((line) => wrapTextWithAnsi(line, this.columns - 1)));
    this.redraw();
  }

  /** Shows text that is being written, below the rows that are done of the text before. */
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
   * Draws what has changed, once for all changes of this turn of the event loop. A new size of the terminal is known at
   * the end of a turn, before which a row may be too long and wrapped.
   */
  redraw(): void {
    if (!this.#isHeld) this.#next ??= setImmediate(() => this.#draw());
  }

  /** Draws anew after the terminal's size has changed. The terminal has wrapped the drawn rows that were too long. */
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

  /** Takes the drawn rows away and draws no more until `resume`: the terminal belongs to another program. */
  pause(): void {
    if (this.#isHeld) return;
    this.#draw();
    this.#output.write(this.#erasing);
    this.#isHeld = true;
  }

  /** As `pause`, when another program has used the terminal already: where the drawn rows are is not known. */
  lose(): void {
    clearImmediate(this.#next);
    this.#next = undefined;
    this.#isHeld = true;
  }

  /** Draws again, from the row of the cursor, and prints what was printed since `pause`. */
  resume(): void {
    this.#isHeld = false;
    this.#drawn = [];
    this.#cursor = { row: 0, column: 0 };
    this.redraw();
  }

  /** Clears the whole terminal, and draws at its top. */
  clear(): void {
    this.#output.write("\u001b[H");
    this.#drawn = [];
    this.#cursor = { row: 0, column: 0 };
    this.redraw();
  }

  /** Leaves what is printed and the prompt behind; the cursor is under them. Nothing more is drawn. */
  end(): void {
    if (this.#isHeld) return;
    this.#draw();
    this.#output.write("\n".repeat(this.#drawn.length - this.#cursor.row));
    this.#isHeld = true;
  }

  /** Prints the rows that are done of the text that is being written. */
  #settle(): void {
    const { done } = this.#flowing?.flow(this.columns - 1, this.#most) ?? { done: [] };
    this.#printed.push(...done);
  }

  #rowsOf(width: number): number {
    return Math.max(1, Math.ceil(width / this.columns));
  }

  /** Takes the drawn rows away: from the row of the cursor to their first one, and all below it. */
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
    // One row stays free, so that the terminal does not scroll what is drawn anew out of reach.
    this.#most = Math.max(1, this.rows - prompt.rows.length - status.length - 1);
    const { done, live } = this.#flowing?.flow(this.columns - 1, this.#most) ?? { done: [], live: [] };
    const start = this.#erasing;
    const lines = [...this.#printed, ...done].map((line) => `${line}\n`);
    this.#printed = [];
    const above = [...live, ...status];
    this.#drawn = [...above, ...prompt.rows];
    this.#cursor = { row: above.length + prompt.cursor.row, column: prompt.cursor.column };
    const toCursor = `${rowsUp(this.#drawn.length - 1 - this.#cursor.row)}\u001b[${this.#cursor.column + 1}G`;
    // In one piece, so that a terminal seldom shows a part of it; some hold it back until its end.
    this.#output.write(`${holdOn}${start}${lines.join("")}${this.#drawn.join("\n")}${toCursor}${holdOff}`);
  }
}

/** Has a terminal that knows it show nothing until `holdOff`. */
const holdOn = "\u001b[?2026h";
const holdOff = "\u001b[?2026l";

function rowsUp(count: number): string {
  return count > 0 ? `\u001b[${count}A` : "";
}
