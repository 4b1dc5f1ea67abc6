import type { Message, PiUsage, Usage } from "./messages.ts";

/** The usage of a reply without one. */
export const noUsage: Usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 };

/** A reply's usage with pi-ai's cost. Of a total alone, the parts are zero. */
export function piUsage(usage: Usage): PiUsage {
  if (hasCosts(usage)) return usage;
  const { cost, unpriced: _, ...tokens } = usage;
  const parts = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
  return {
    ...tokens,
    cost: { ...parts, total: typeof cost === "number" ? cost : 0 },
    ...(cost === undefined ? { unpriced: true } : {}),
  };
}

const hasCosts = (usage: Usage): usage is PiUsage => typeof usage.cost === "object";

/** A stored message in today's form, also when an earlier version has stored it. @param json its JSON text */
export function parseMessage(json: string): Message {
  const message = JSON.parse(json) as Message;
  if (message.role !== "assistant" || !message.usage) return message;
  return { ...message, usage: piUsage(message.usage) };
}
