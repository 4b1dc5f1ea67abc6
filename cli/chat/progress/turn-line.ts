import type { ChatReply } from "../../../shared/protocol/events.ts";
import { percentText } from "../../../shared/session/commands/context-command.ts";
import { spendingText } from "../../../shared/session/commands/cost-command.ts";

/** Formats what a turn took, and how full the context window is now: `2 calls, 1,234 in, 56 out, $0.0042; context 6%`. */
export function turnLine({
  contextTokens,
  contextWindow,
  ...spending
}: NonNullable<ChatReply["turn"]>): string {
  const isKnown = contextTokens !== undefined && contextWindow !== undefined;
  return `${spendingText(spending)}${isKnown ? `; context ${percentText(contextTokens / contextWindow)}` : ""}`;
}
