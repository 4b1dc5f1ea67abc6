import { parseCommand } from "../../shared/session/commands/parse-command.ts";
import type { TurnOutcome } from "./conversation.ts";

/** Whether a message may be sent again because it has no answer. */
export function canRetry(message: string, { status }: TurnOutcome): boolean {
  return (status === "failed" || status === "stopped") && parseCommand(message) === undefined;
}

export const nothingToRetry = "nothing to send again: the last message was not stopped and did not fail";
