import type { CommandName } from "./parse-command.ts";

/** One slash command as users are told of it. */
export interface CommandHelp {
  /** The command's names, without the slash. */
  words: readonly [string, ...string[]];
  /** What may follow it. */
  argument?: string;
  does: string;
}

/** Every slash command of the gateway, in the order of `/help`. */
export const commandHelp: Record<CommandName, CommandHelp> = {
  reset: { words: ["new", "reset"], does: "archive this conversation and start a fresh one" },
  compact: {
    words: ["compact"],
    argument: "[N]",
    does: "put a summary in place of all but the newest N messages (20)",
  },
  stop: { words: ["stop"], does: "stop the answer in progress" },
  status: { words: ["status"], does: "show this session" },
  model: { words: ["model"], argument: "[provider/id or id]", does: "show or set the model" },
  think: {
    words: ["think"],
    argument: "[off|minimal|low|medium|high|xhigh or 0–5]",
    does: "show or set the thinking level",
  },
  cost: { words: ["cost"], does: "show the tokens and money of the last turn, this conversation and today" },
  context: { words: ["context"], does: "show how full the context window is" },
  help: { words: ["help"], does: "this list" },
};

/** `/compact [N] – put a summary in place of …` */
export function helpLine({ words, argument, does }: CommandHelp): string {
  const names = words.map((word) => `/${word}`).join(", ");
  return `${argument === undefined ? names : `${names} ${argument}`} – ${does}`;
}
