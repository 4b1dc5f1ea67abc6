import { type Message, textOf, toolCallsOf } from "../../shared/protocol/messages.ts";
import type { Gateway } from "../gateway/gateway-client.ts";

/** Number of newest messages that are searched for the answer. */
const maxMessages = 50;

/** Whether a session has a running or queued run, and the id of the running one. Undefined when the request fails. */
export async function workOf(
  gateway: Gateway,
  sessionKey: string,
): Promise<{ busy: boolean; runId?: string } | undefined> {
  try {
    const { isProcessing, queueSize, runId } = await gateway.request("session.stats", { sessionKey });
    return { busy: isProcessing || queueSize > 0, runId };
  } catch {
    return undefined;
  }
}

/** Finds the stored answer to a message. Returns undefined when there is none. @throws RequestError */
export async function lookUpAnswer(
  gateway: Gateway,
  sessionKey: string,
  message: string,
): Promise<string | undefined> {
  const { messages } = await gateway.request("session.preview", { sessionKey, limit: maxMessages });
  return answerTo(message, messages);
}

/**
 * The final assistant text between the newest user message equal to `message` and the next user message. When
 * no stored message is equal, the newest user message is used: directives are removed from a message before
 * it is stored.
 */
function answerTo(message: string, messages: Message[]): string | undefined {
  const isUser = (candidate: Message) => candidate.role === "user";
  const equal = messages.findLastIndex(
    (candidate) => isUser(candidate) && textOf(candidate).trim() === message.trim(),
  );
  const asked = equal < 0 ? messages.findLastIndex(isUser) : equal;
  if (asked < 0) return undefined;
  const next = messages.findIndex((candidate, index) => index > asked && isUser(candidate));
  const after = messages.slice(asked + 1, next < 0 ? undefined : next);
  const last = after.findLast((candidate) => candidate.role === "assistant");
  // A message with tool calls is not an answer: a run that ended with it has failed. So has one that ended with a marker.
  if (last?.role !== "assistant" || last.errorMessage !== undefined) return undefined;
  return toolCallsOf(last).length === 0 && textOf(last) !== "" ? textOf(last) : undefined;
}
