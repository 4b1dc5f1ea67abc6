import type { Writer } from "../inbox-entry.ts";
import { isGuestSessionKey, parseSessionKey } from "../key/session-key.ts";
import type { Command } from "./parse-command.ts";

/** The answer to a guest's message that has a model or thinking directive. */
export const directiveRefusal =
  "Only the owner of this agent may choose the model and the thinking level; write again without /model and /think.";

/** The help that a guest sees: it lists more commands in the guest's own conversation than in a room. */
export function guestHelp(sessionKey: string): string {
  return [
    "Commands:",
    ...(isGuestSessionKey(sessionKey)
      ? ["/new, /reset – archive this conversation and start a fresh one"]
      : []),
    "/stop – stop the answer to your message",
    "/status – show this session",
    "/help – this list",
  ].join("\n");
}

/** Why a writer may not use a command in a session, as a sentence; undefined when they may. */
export function refusalOf(sessionKey: string, { role }: Writer, command: Command): string | undefined {
  if (role === "guest") return guestRefusal(sessionKey, command);
  const { name } = command;
  const kind = parseSessionKey(sessionKey)?.peer.kind ?? "dm";
  if (role === undefined || kind === "dm" || (name !== "cost" && name !== "budget")) return undefined;
  return `Others can read this conversation; use /${name} in a direct message.`;
}

function guestRefusal(sessionKey: string, { name }: Command): string | undefined {
  switch (name) {
    case "help":
    case "status":
    case "stop":
      return undefined;
    case "reset":
      return isGuestSessionKey(sessionKey)
        ? undefined
        : "Only an owner of this agent may reset a conversation that others share.";
    case "private":
    case "compact":
    case "context":
    case "cost":
    case "budget":
    case "model":
    case "think":
      return `Only the owner of this agent may use /${name}.`;
  }
}
