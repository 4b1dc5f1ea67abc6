import type { Readable, Writable } from "node:stream";
import { printable } from "./printable.ts";
import { textWidth } from "./text-width.ts";

/** Standard streams, environment and working directory of a command. Tests pass their own. */
export interface Terminal {
  stdin: Readable & { isTTY?: boolean; setRawMode?(raw: boolean): unknown };
  stdout: Writable & { isTTY?: boolean; columns?: number };
  stderr: Writable & { isTTY?: boolean; columns?: number };
  env: Record<string, string | undefined>;
  cwd: string;
}

export function processTerminal(): Terminal {
  const { stdout, stderr, env } = process;
  return {
    // Opened on first use, because opening takes some milliseconds.
    get stdin() {
      return process.stdin;
    },
    stdout,
    stderr,
    env,
    cwd: process.cwd(),
  };
}

/** Whether both standard input and output are terminals, so that the user can answer questions. */
export function isInteractive(terminal: Terminal): boolean {
  return terminal.stdin.isTTY === true && terminal.stdout.isTTY === true;
}

/**
 * Writes text to a stream. All untrusted text is written through this function: on a terminal it is made
 * `printable`, then styled; elsewhere it is written unchanged.
 */
export function writeText(
  stream: Writable & { isTTY?: boolean },
  text: string,
  style: (text: string) => string = String,
): void {
  stream.write(stream.isTTY === true ? style(printable(text)) : text);
}

/** Whether text on a stream may have styles: the stream is a capable terminal and NO_COLOR is not set. */
export function isStyled({ env }: Pick<Terminal, "env">, stream: { isTTY?: boolean }): boolean {
  return stream.isTTY === true && !env.NO_COLOR && env.TERM !== "dumb";
}

/** Writes text as `writeText` does. Lines wider than the terminal are wrapped between words. */
export function writeLines(stream: Writable & { isTTY?: boolean; columns?: number }, text: string): void {
  const { isTTY, columns } = stream;
  writeText(stream, isTTY === true && columns ? wrapWords(printable(text), columns) : text);
}

/** Terminal styles. They return the text unchanged without a terminal, or when NO_COLOR is set. */
export interface Style {
  dim(text: string): string;
  bold(text: string): string;
  red(text: string): string;
}

export function styleOf(terminal: Terminal, stream: { isTTY?: boolean }): Style {
  const on = isStyled(terminal, stream);
  const style = (open: number, close: number) => (text: string) =>
    on && text !== "" ? `\u001b[${open}m${text}\u001b[${close}m` : text;
  return { dim: style(2, 22), bold: style(1, 22), red: style(31, 39) };
}

/** A column aligns the wrapped rows only if it begins within this part of the line. */
const columnPart = 0.6;

/**
 * Wraps lines wider than the terminal at their blanks. The wrapped rows are aligned with the last column that begins in
 * the first 60 % of the line: the value of a pair, a cell of a table, else the line's own indentation. Words are never
 * split, so that addresses and tokens can be copied.
 * @param columns width of the terminal
 */
export function wrapWords(text: string, columns: number): string {
  return text
    .split("\n")
    .map((line) => (widthOf(line) <= columns ? line : wrapLine(line, columns)))
    .join("\n");
}

function wrapLine(line: string, columns: number): string {
  const start = columnOf(line, columns);
  const indent = " ".repeat(widthOf(line.slice(0, start)));
  const [first = "", ...parts] = line.slice(start).split(/( +)/);
  const rows: string[] = [];
  let row = line.slice(0, start) + first;
  for (let index = 0; index < parts.length; index += 2) {
    const [blanks = "", word = ""] = parts.slice(index, index + 2);
    if (widthOf(row) + blanks.length + widthOf(word) <= columns) row += blanks + word;
    else {
      rows.push(row);
      row = indent + word;
    }
  }
  return [...rows, row].join("\n");
}

/** The index in the line at which the wrapped rows are aligned. */
function columnOf(line: string, columns: number): number {
  const ends = [...line.matchAll(/^ *(?:[-•→⏵] )?|(?<=\S) {2,}(?=\S)/g)].map(
    ({ 0: gap, index }) => index + gap.length,
  );
  return ends.findLast((end) => widthOf(line.slice(0, end)) <= columns * columnPart) ?? 0;
}

function widthOf(text: string): number {
  return /^[\x20-\x7e]*$/.test(text) ? text.length : textWidth(text);
}
