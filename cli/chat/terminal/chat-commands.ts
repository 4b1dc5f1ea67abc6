import { type CommandHelp, commandHelp, helpLine } from "../../../shared/session/commands/commands.ts";
import { parseCommand } from "../../../shared/session/commands/parse-command.ts";
import { didYouMean } from "../../app/suggestion.ts";
import type { CompletedCommand } from "./completion.ts";

/** The commands that the chat carries out itself; the gateway does not get them. */
const ownCommands = {
  edit: { words: ["edit"], does: "write the message in $VISUAL or $EDITOR" },
  quit: { words: ["quit", "exit"], does: "leave the chat" },
} as const satisfies Record<string, CommandHelp>;

export type OwnCommand = keyof typeof ownCommands;

const keys = [
  ["Tab", "completes a /command or an @file"],
  ["@file", "attaches an image or a document, and names any other file by its full path"],
  ["Alt-Enter, Ctrl-J, \\ Enter", "a new line"],
  ["Ctrl-R", "searches what was typed before; Ctrl-P and Ctrl-N, or the arrows, go through it"],
  ["Ctrl-X Ctrl-E", "opens the message in an editor"],
  ["Esc", "stops the run"],
  ["Ctrl-C", "stops the run, or clears what is typed; twice leaves"],
  ["Ctrl-D", "leaves; a run goes on"],
  ["Ctrl-Z", "stops this program until `fg`"],
  ["Ctrl-L", "clears the terminal"],
] as const;

/** All words that the chat and the gateway understand behind a slash. */
export const completedCommands: readonly CompletedCommand[] = [
  ...Object.values(commandHelp),
  ...Object.values(ownCommands),
].flatMap(({ words, does }) => words.map((word) => ({ word, does })));

/** What `/help` shows of this chat, below the gateway's commands. */
export const chatHelp = [
  "In this chat:",
  ...Object.values(ownCommands).map(helpLine),
  ...keys.map(([name, does]) => `${name} – ${does}`),
].join("\n");

/** The chat's own command that a message is. */
export function ownCommand(message: string): OwnCommand | undefined {
  const names = Object.entries(ownCommands) as [OwnCommand, CommandHelp][];
  return names.find(([, { words }]) => words.some((word) => message.toLowerCase() === `/${word}`))?.[0];
}

/**
 * Why a message that starts with a `/word` is not sent: nothing understands the word. Undefined for a message that is
 * sent; a path such as /etc/hosts is one.
 */
export function unknownCommand(message: string): string | undefined {
  const word = /^\/([\w-]+)(?=\s|$)/.exec(message)?.[1];
  if (word === undefined || parseCommand(message) !== undefined) return undefined;
  const known = completedCommands.map((command) => `/${command.word}`);
  return `unknown command /${word}${didYouMean(`/${word}`, known)}; /help lists them, and with a blank before it, it is sent as text`;
}
