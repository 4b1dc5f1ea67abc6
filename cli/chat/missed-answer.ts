import { type Message, textOf, toolCallsOf } from "../../shared/protocol/messages.ts";
import type { Gateway } from "../gateway/gateway-client.ts";

/** Messages that are looked through for an answer. */
const mostMessages = 50;

/** Whether a session has anything to do; undefined when the gateway cannot be asked just now. */
export async function isBusy(gateway: Gateway, sessionKey: string): Promise<boolean | undefined> {
  try {
    const stats = await gateway.request("session.stats", { sessionKey });
    return stats.isProcessing || stats.queueSize > 0;
  } catch {
    return undefined;
  }
}

/** The stored answer to a message, undefined when there is none. Throws a RequestError. */
export async function lookUpAnswer(
  gateway: Gateway,
  sessionKey: string,
  message: string,
): Promise<string | undefined> {
  const { messages } = await gateway.request("session.preview", { sessionKey, limit: mostMessages });
  return answerTo(message, messages);
}

/**
 * The text that ended what was said after the newest user message that is `message`, and before the next one. Directives are taken
 * out of a message before it is stored; without an equal one it is the newest.
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
  // What was said on the way to tools is no answer: a run that ended there has failed.
  return last && toolCallsOf(last).length === 0 && textOf(last) !== "" ? textOf(last) : undefined;
}
