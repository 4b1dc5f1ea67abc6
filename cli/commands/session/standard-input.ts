import { fstatSync } from "node:fs";
import { usage } from "../../app/failure.ts";
import { readAll } from "../../app/questions.ts";
import type { Terminal } from "../../app/terminal.ts";

type Input = Terminal["stdin"] & { fd?: number };

/** How long nothing may come before the user is told what is waited for, ms. */
const patienceMs = 3000;

/**
 * The text of standard input, without its final line breaks.
 * @throws Failure (usage) when it is empty or not text
 */
export async function wholeInput(stdin: Input): Promise<string> {
  const input = textOf(await readAll(stdin));
  if (input === "") throw usage("standard input is empty; nothing is sent");
  return input;
}

/**
 * A message with the text of standard input behind it, if there is any. A terminal is not read. A socket of which nothing
 * comes is left alone after a while: programs hand on their own input in this way, and never close it.
 * @param note tells the user what is waited for
 * @throws Failure (usage) when it is not text
 */
export async function withInput(
  message: string,
  stdin: Input,
  note: (text: string) => void,
  waitMs = patienceMs,
): Promise<string> {
  if (stdin.isTTY) return message;
  const input = readAll(stdin);
  const isLeft = await new Promise<boolean>((resolve, reject) => {
    const late = () => {
      resolve(isSocket(stdin));
      if (isSocket(stdin)) note("gsv: nothing comes on standard input; the message is sent without it");
      else note("gsv: waiting for standard input to end (</dev/null gives none)");
    };
    const timer = setTimeout(late, waitMs);
    stdin.once("data", () => clearTimeout(timer));
    const end = () => {
      clearTimeout(timer);
      resolve(false);
    };
    input.then(end, (error: unknown) => {
      end();
      reject(error);
    });
  });
  if (isLeft) return message;
  const text = textOf(await input);
  return text === "" ? message : `${message}\n\n${text}`;
}

function textOf(input: string): string {
  if (input.includes("\0"))
    throw usage("standard input is not text; send a file with `gsv cp`, an image with --image");
  return input.replace(/(\r?\n)+$/, "");
}

function isSocket({ fd }: Input): boolean {
  return fd !== undefined && fstatSync(fd).isSocket();
}
