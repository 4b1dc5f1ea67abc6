import type { Message, PiUsage, Usage } from "./messages.ts";

/** The usage of a reply without one. */
export const noUsage: Usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 };

/** A reply's usage with pi-ai's cost. Of a total alone, the parts are zero. */
export function piUsage({ cost, unpriced, ...tokens }: Usage): PiUsage {
  if (typeof cost === "object") return { ...tokens, cost, ...(unpriced ? { unpriced } : {}) };
  const parts = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
  return {
    ...tokens,
    cost: { ...parts, total: cost ?? 0 },
    ...(cost === undefined ? { unpriced: true } : {}),
  };
}

/** A stored message in today's form, also when an earlier version has stored it. @param json its JSON text */
export function parseMessage(json: string): Message {
  const message = JSON.parse(json) as Message;
  if (message.role !== "assistant" || !message.usage) return message;
  return { ...message, usage: piUsage(message.usage) };
}
