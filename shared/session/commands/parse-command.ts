/** A slash command: its canonical name and the text after it. */
export interface Command {
  name: CommandName;
  argument: string;
}

export type CommandName =
  | "reset"
  | "private"
  | "compact"
  | "stop"
  | "status"
  | "model"
  | "think"
  | "cost"
  | "budget"
  | "context"
  | "help";

const names: Record<string, CommandName> = {
  new: "reset",
  reset: "reset",
  private: "private",
  compact: "compact",
  stop: "stop",
  status: "status",
  model: "model",
  think: "think",
  t: "think",
  thinking: "think",
  cost: "cost",
  budget: "budget",
  context: "context",
  help: "help",
  "?": "help",
};

/** Undefined for a message that does not start with a known command; it is then ordinary text. */
export function parseCommand(message: string): Command | undefined {
  const match = /^\/([a-z]+|\?)(?:\s+([\s\S]*))?$/i.exec(message.trim());
  const name = match?.[1]?.toLowerCase();
  const known = name !== undefined && Object.hasOwn(names, name) ? names[name] : undefined;
  return known && { name: known, argument: (match?.[2] ?? "").trim() };
}
