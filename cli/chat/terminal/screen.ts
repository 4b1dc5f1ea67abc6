import { clearScreenDown, cursorTo, type Interface, moveCursor } from "node:readline";
import type { Writable } from "node:stream";
import { drawable, prefixWithin, textWidth, wrapLine } from "./text-width.ts";

/**
 * A terminal with a prompt on its last line and streaming text above it. The rows above the prompt that
 * are redrawn at each change are the unfinished row of streamed text and the status rows.
 */
export class Screen {
  readonly #lines: Interface;
  readonly #output: Writable & { columns?: number };
  readonly #dim: (text: string) => string;
  #live = "";
  #status = "";
  #drawnRows = 0;

  /** `dim` styles the status rows. */
  constructor(
    lines: Interface,
    output: Writable & { columns?: number },
    dim: (text: string) => string = (text) => text,
  ) {
    this.#lines = lines;
    this.#output = output;
    this.#dim = dim;
  }

  /** Appends text to the streamed text. */
  stream(text: string): void {
    const { committed, live } = this.#wrap(this.#live + drawable(text));
    this.#redraw(committed, () => {
      this.#live = live;
    });
  }

  /**
   * Prints whole lines as they are, because they may contain styles. The caller makes untrusted text
   * `drawable`.
   */
  print(text: string): void {
    const unfinished = this.#live === "" ? [] : [this.#live];
    this.#redraw([...unfinished, ...text.split("\n")], () => {
      this.#live = "";
    });
  }

  /** Ends the streamed line. Does nothing when it is empty. */
  endLine(): void {
    if (this.#live === "") return;
    this.#redraw([this.#live], () => {
      this.#live = "";
    });
  }

  /** Sets the status rows above the prompt. Empty text removes them. */
  status(text: string): void {
    if (text === this.#status) return;
    this.#redraw([], () => {
      this.#status = text;
    });
  }

  /** Moves an entered line above the streaming text. Must be called for each entered line. */
  entered(line: string): void {
    const prompt = this.#lines.getPrompt();
    if (this.#drawnRows > 0) {
      const inputRows = Math.floor(textWidth(prompt + line) / this.#columns) + 1;
      moveCursor(this.#output, 0, -(inputRows + this.#drawnRows));
      cursorTo(this.#output, 0);
      clearScreenDown(this.#output);
      this.#output.write(`${prompt}${line}\n`);
    }
    this.#draw();
  }

  get #columns(): number {
    return Math.max(20, this.#output.columns ?? 80);
  }

  #wrap(text: string): { committed: string[]; live: string } {
    const lines = text.split("\n");
    const last = wrapLine(lines.pop() ?? "", this.#columns);
    const full = lines.flatMap((line) => {
      const { rows, rest } = wrapLine(line, this.#columns);
      return [...rows, rest];
    });
    return { committed: [...full, ...last.rows], live: last.rest };
  }

  #redraw(committed: string[], change: () => void): void {
    const { rows } = this.#lines.getCursorPos();
    moveCursor(this.#output, 0, -(rows + this.#drawnRows));
    cursorTo(this.#output, 0);
    clearScreenDown(this.#output);
    for (const line of committed) this.#output.write(`${line}\n`);
    change();
    this.#draw();
  }

  #draw(): void {
    this.#drawnRows = 0;
    const status = this.#status.split("\n").map((row) => [row, this.#dim] as const);
    for (const [row, style] of [[this.#live, String] as const, ...status]) {
      if (row === "") continue;
      this.#output.write(`${style(prefixWithin(row, this.#columns - 1))}\n`);
      this.#drawnRows += 1;
    }
    this.#drawInput();
  }

  /** Draws the prompt and the typed text, and puts the cursor at readline's position. */
  #drawInput(): void {
    const input = this.#lines.getPrompt() + this.#lines.line;
    const width = textWidth(input);
    const cursor = this.#lines.getCursorPos();
    this.#output.write(input);
    // After a full row, a terminal moves to the next row only with the next character.
    if (width > 0 && width % this.#columns === 0) this.#output.write(" ");
    moveCursor(this.#output, 0, cursor.rows - Math.floor(width / this.#columns));
    cursorTo(this.#output, cursor.cols);
  }
}
