import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { Failure } from "./failure.ts";
import { printable } from "./printable.ts";
import { type Terminal, writeText } from "./terminal.ts";

/** Asks a question on standard error; standard output is for the result. An empty answer returns `preset`. */
export async function ask(terminal: Terminal, question: string, preset = ""): Promise<string> {
  const shown = preset === "" ? question : `${question} [${preset}]`;
  return (await answerTo(terminal, `${shown}: `, terminal.stderr)) || preset;
}

/** Asks a question without echoing the typed answer. */
export async function askHidden(terminal: Terminal, question: string): Promise<string> {
  writeText(terminal.stderr, `${question} (not shown): `);
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const answer = await answerTo(terminal, "", nowhere);
  writeText(terminal.stderr, "\n");
  return answer;
}

/** Asks a yes/no question. Returns true only for "y" or "yes". */
export async function confirm(terminal: Terminal, question: string): Promise<boolean> {
  return /^y(es)?$/i.test(await answerTo(terminal, `${question} [y/N] `, terminal.stderr));
}

async function answerTo(terminal: Terminal, question: string, output: Writable): Promise<string> {
  const lines = createInterface({ input: terminal.stdin, output, terminal: terminal.stdin.isTTY === true });
  const left = new Promise<never>((_resolve, reject) => {
    const leave = () => reject(new Failure("cancelled", "cancelled; nothing was changed"));
    lines.once("SIGINT", leave);
    lines.once("close", leave);
  });
  left.catch(() => undefined);
  try {
    return (await Promise.race([lines.question(printable(question)), left])).trim();
  } finally {
    lines.close();
  }
}

/** A secret from standard input: asked for at a terminal, otherwise all of the input. */
export function readSecret(terminal: Terminal, question: string): Promise<string> {
  return terminal.stdin.isTTY ? askHidden(terminal, question) : readAll(terminal.stdin);
}

/** Reads standard input to its end as UTF-8, without the final line break. */
export async function readAll(stdin: AsyncIterable<string | Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stdin) chunks.push(typeof chunk === "string" ? Buffer.from(chunk) : chunk);
  return Buffer.concat(chunks)
    .toString("utf8")
    .replace(/\r?\n$/, "");
}
