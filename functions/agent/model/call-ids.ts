import { randomUUID } from "node:crypto";
import { type AssistantMessage, type Message, toolCallsOf } from "../../../shared/protocol/messages.ts";

/**
 * Gives a call a new id where its own is empty or has occurred in the conversation: results are stored by it. The large
 * providers never repeat one; some compatible servers count from 0 in every reply.
 */
export function withUniqueCallIds(reply: AssistantMessage, before: readonly Message[]): AssistantMessage {
  const calls = toolCallsOf(reply);
  if (calls.length === 0) return reply;
  const seen = new Set(before.flatMap(toolCallsOf).map((call) => call.id));
  const isNew = (id: string) => {
    if (id === "" || seen.has(id)) return false;
    seen.add(id);
    return true;
  };
  const content = reply.content.map((block) =>
    block.type !== "toolCall" || isNew(block.id) ? block : { ...block, id: newCallId() },
  );
  return { ...reply, content };
}

/** Within the 40 characters that OpenAI takes. */
function newCallId(): string {
  return `call_${randomUUID().replaceAll("-", "")}`;
}
