import { type CommandHelp, commandHelp, helpLine } from "../../../shared/session/commands/commands.ts";
import { parseCommand } from "../../../shared/session/commands/parse-command.ts";
import { didYouMean } from "../../app/suggestion.ts";
import type { CompletedCommand } from "./completion.ts";

/** The commands that the chat executes. They are not sent to the gateway. */
const ownCommands = {
  edit: { words: ["edit"], does: "write the message in $VISUAL or $EDITOR" },
  retry: { words: ["retry"], does: "send the last message again that was stopped or failed" },
  open: { words: ["open"], does: "open the gateway's page in the browser, signed in" },
  quit: { words: ["quit", "exit"], does: "leave the chat" },
} as const satisfies Record<string, CommandHelp>;

export type OwnCommand = keyof typeof ownCommands;

const keys = [
  ["Tab", "completes a /command or an @file"],
  ["@file", "attaches an image or a document, and inserts the full path of any other file"],
  ["Alt-Enter, Ctrl-J, \\ Enter", "a new line"],
  ["Ctrl-R", "searches the input history; Ctrl-P and Ctrl-N, or the arrows, step through it"],
  ["Ctrl-X Ctrl-E", "opens the message in an editor"],
  ["Esc", "stops the run; queued messages return to the prompt"],
  ["Ctrl-C", "as Esc, or clears the input; twice leaves"],
  ["a, r, w, d alone", "answer a call that waits for you, as the row below the prompt says"],
  ["Ctrl-D", "leaves; the run and queued messages continue"],
  ["Ctrl-Z", "suspends this program until `fg`"],
  ["Ctrl-L", "clears the terminal"],
] as const;

/** All slash commands of the chat and the gateway. */
export const completedCommands: readonly CompletedCommand[] = [
  ...Object.values(commandHelp),
  ...Object.values(ownCommands),
].flatMap(({ words, does }) => words.map((word) => ({ word, does })));

/** The chat's part of `/help`, shown below the gateway's commands. */
export const chatHelp = [
  "In this chat:",
  ...Object.values(ownCommands).map(helpLine),
  ...keys.map(([name, does]) => `${name} – ${does}`),
].join("\n");

/** The chat's command in a message; undefined when it is none. */
export function ownCommand(message: string): OwnCommand | undefined {
  const names = Object.entries(ownCommands) as [OwnCommand, CommandHelp][];
  return names.find(([, { words }]) => words.some((word) => message.toLowerCase() === `/${word}`))?.[0];
}

/**
 * The error for a message that starts with an unknown `/word`. Undefined for a message that may be sent, such as one that
 * starts with the path /etc/hosts.
 */
export function unknownCommand(message: string): string | undefined {
  const word = /^\/([\w-]+)(?=\s|$)/.exec(message)?.[1];
  if (word === undefined || parseCommand(message) !== undefined) return undefined;
  const known = completedCommands.map((command) => `/${command.word}`);
  return `unknown command /${word}${didYouMean(`/${word}`, known)}; /help lists the commands; to send it as text, put a blank before it`;
}
