import type { Readable, Writable } from "node:stream";
import { printable } from "./printable.ts";
import { wrapWords } from "./text/word-wrap.ts";

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
    // Opened by the commands that read it: opening takes some milliseconds.
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
 * Writes text to a stream. This is the only way out for text that may be of others: on a terminal it is made
 * `printable`, and then styled; anywhere else it is written as it is.
 */
export function writeText(
  stream: Writable & { isTTY?: boolean },
  text: string,
  style: (text: string) => string = String,
): void {
  stream.write(stream.isTTY === true ? style(printable(text)) : text);
}

/** Whether text on a stream may have styles: it is a terminal, and NO_COLOR is not set. */
export function isStyled({ env }: Pick<Terminal, "env">, stream: { isTTY?: boolean }): boolean {
  return stream.isTTY === true && !env.NO_COLOR && env.TERM !== "dumb";
}

/** Writes text as `writeText` does; at a terminal, lines that are wider than it are broken between words. */
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
