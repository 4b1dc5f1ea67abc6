import { clearScreenDown, cursorTo, moveCursor } from "node:readline";
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
  /** Lines to print when the terminal is ours again; undefined while it is. */
  #held: string[] | undefined;

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
    this.#draw(text.split("\n").flatMap((line) => wrapTextWithAnsi(line, this.columns - 1)));
  }

  /** Shows text that is being written, which takes the place of the text before. */
  show(flowing: Flowing | undefined): void {
    this.#flowing = flowing;
    this.#draw([]);
  }

  /** Sets the status rows above the prompt. Empty text removes them. */
  status(text: string): void {
    if (text === this.#status) return;
    this.#status = text;
    this.#draw([]);
  }

  /** Draws what has changed in the prompt or in the text that is being written. */
  redraw(): void {
    this.#draw([]);
  }

  /** Draws anew after the terminal's size has changed. The terminal has wrapped the drawn rows that were too long. */
  resized(): void {
    const { row, column } = this.#cursor;
    const wrapped = this.#drawn.slice(0, row).map((line) => this.#rowsOf(visibleWidth(line)) - 1);
    this.#cursor = {
      row: row + wrapped.reduce((sum, more) => sum + more, 0) + Math.floor(column / this.columns),
      column,
    };
    this.#draw([]);
  }

  /** Takes the drawn rows away and draws no more until `resume`: the terminal belongs to another program. */
  pause(): void {
    if (this.#held !== undefined) return;
    this.#erase();
    this.#held = [];
  }

  /** As `pause`, when another program has used the terminal already: where the drawn rows are is not known. */
  lose(): void {
    this.#held ??= [];
  }

  /** Draws again, from the row of the cursor. What was printed since `pause` is printed now. */
  resume(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    this.#drawn = [];
    this.#cursor = { row: 0, column: 0 };
    this.#draw(held);
  }

  /** Clears the whole terminal, and draws at its top. */
  clear(): void {
    cursorTo(this.#output, 0, 0);
    this.#drawn = [];
    this.#cursor = { row: 0, column: 0 };
    this.#draw([]);
  }

  /** Leaves what is printed and the prompt behind; the cursor is under them. Nothing more may be drawn. */
  end(): void {
    if (this.#held !== undefined) return;
    moveCursor(this.#output, 0, this.#drawn.length - 1 - this.#cursor.row);
    this.#output.write("\n");
    this.#held = [];
  }

  #rowsOf(width: number): number {
    return Math.max(1, Math.ceil(width / this.columns));
  }

  #erase(): void {
    moveCursor(this.#output, 0, -this.#cursor.row);
    cursorTo(this.#output, 0);
    clearScreenDown(this.#output);
  }

  #draw(printed: string[]): void {
    if (this.#held !== undefined) {
      this.#held.push(...printed);
      return;
    }
    const prompt = this.#prompt(this.columns);
    const status = this.#status
      .split("\n")
      .filter((row) => row !== "")
      .map((row) => this.#dim(truncateToWidth(row, this.columns - 1, "…")));
    // One row stays free, so that the terminal does not scroll what is drawn anew out of reach.
    const most = Math.max(1, this.rows - prompt.rows.length - status.length - 1);
    const { done, live } = this.#flowing?.flow(this.columns - 1, most) ?? { done: [], live: [] };
    this.#erase();
    for (const line of [...printed, ...done]) this.#output.write(`${line}\n`);
    const above = [...live, ...status];
    this.#drawn = [...above, ...prompt.rows];
    this.#cursor = { row: above.length + prompt.cursor.row, column: prompt.cursor.column };
    this.#output.write(this.#drawn.join("\n"));
    moveCursor(this.#output, 0, this.#cursor.row - (this.#drawn.length - 1));
    cursorTo(this.#output, this.#cursor.column);
  }
}
