import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { TerminalScreen } from "../../support/terminal/terminal-screen.ts";
import { commandsOf, type Newcomer, pictureOf } from "./newcomer.ts";

/** Commands of a document, and how to try them. */
export type Trial = [RegExp, (command: string) => Promise<void>];

/**
 * Types the commands of a document from top to bottom, each with the first trial that matches. A command without a
 * trial is run unchanged, and must succeed.
 */
export function describeCommands(newcomer: Newcomer, file: string, trials: readonly Trial[]): void {
  describe(`the commands of ${file}, typed one after the other`, () => {
    const commands = commandsOf(file);

    it.each(commands)("%s", async (command) => {
      const [, trial = (typed: string) => succeed(newcomer, typed)] =
        trials.find(([pattern]) => pattern.test(command)) ?? [];
      await trial(command);
    });

    it("match every trial", () => {
      const unused = trials.filter(([pattern]) => !commands.some((command) => pattern.test(command)));
      expect(unused).toEqual([]);
    });
  });
}

/** Runs a command to its end, and returns its output. */
export async function succeed(newcomer: Newcomer, command: string): Promise<string> {
  const { code, output } = await newcomer.run(command);
  expect(code, output).toBe(0);
  return output;
}

/** `npm ci` and `npm test` run these tests in a fresh clone. */
export async function byContinuousIntegration(command: string): Promise<void> {
  expect(readFileSync(".ci/run", "utf8").split("\n")).toContain(command);
}

/** Opens a chat, and waits until it can be typed into. */
export async function openChat(newcomer: Newcomer, command: string): Promise<TerminalScreen> {
  const terminal = newcomer.terminal(command);
  await terminal.sees(/^> ?$/m);
  return terminal;
}

/** Types the code that a chat's gateway shows into a command that asks for it, and waits until the command has ended. */
export async function typeCode(chat: TerminalScreen | undefined, terminal: TerminalScreen): Promise<void> {
  await terminal.sees("Code that the gateway shows in its terminal");
  const newest = () =>
    chat
      ?.text()
      .match(/(?<=\btype\s)\S{4}-\S{4}(?=\s+there)/g)
      ?.at(-1);
  const before = typed.get(chat);
  await expect.poll(newest, { timeout: 20_000 }).not.toBe(before);
  typed.set(chat, newest());
  terminal.type(`${newest()}\r`);
  expect(await terminal.ended, terminal.text()).toBe(0);
}

/** The last code that was typed, by chat. */
const typed = new Map<TerminalScreen | undefined, string | undefined>();

/** Runs a command that needs admin rights at a terminal, and returns what it showed. */
export async function succeedAsAdmin(
  newcomer: Newcomer,
  chat: TerminalScreen | undefined,
  command: string,
): Promise<string> {
  const terminal = newcomer.terminal(command);
  await typeCode(chat, terminal);
  return terminal.text();
}

/** Leaves a chat as a user does, by Ctrl-D. */
export async function leaveChat(terminal: TerminalScreen | undefined): Promise<void> {
  if (terminal === undefined) return;
  terminal.type("\u0004");
  expect(await terminal.ended).toBe(0);
}

/** Replaces the parts of a line that differ between machines and runs. */
const common = (line: string) =>
  line
    .replace(/data is in \S+\/\.gsv/, "data is in …/.gsv")
    .replace(/^page: \S+/, "page: …")
    .replace(/\S+__Bash/, "…__Bash")
    .replace(/ after [\d.]+ s\b/, "")
    .replace(/^\(\d+ calls?, .* out, (.*) \d+%\)$/, "($1)")
    .trim();

/** Opens the chat in a document's picture: types what the picture shows as typed, and expects the same screen. */
export async function openPicturedChat(
  newcomer: Newcomer,
  file: string,
  command: string,
): Promise<TerminalScreen> {
  const picture = pictureOf(file);
  const [typed = ""] = picture.filter((line) => line.startsWith("> "));
  expect(typed).not.toBe("");
  const terminal = await openChat(newcomer, command);
  terminal.type(`${typed.slice(2)}\r`);
  // The line with the tokens is the last one of a turn.
  await terminal.sees(/^\(\d+ calls?, .*\)$/m);
  const seen = new Set(terminal.rows().map(common));
  expect(picture.filter((line) => !seen.has(common(line)))).toEqual([]);
  return terminal;
}
