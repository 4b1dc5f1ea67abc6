import type { ModelConfiguration } from "../../../shared/configuration/schema.ts";
import { isReply, type Message } from "../../../shared/protocol/messages.ts";
import { bedrockProvider } from "../../../shared/session/commands/model-choice.ts";
import type { CacheRetention } from "../../../shared/spend/price.ts";

/** How long a request stays cached after its last use, in ms. */
export const cachedMs: Readonly<Record<CacheRetention, number>> = {
  none: 0,
  short: 5 * 60_000,
  long: 60 * 60_000,
};

/** Prices relative to uncached input, where a longer lifetime costs more (Anthropic's price list). */
const price = { read: 0.1, short: 1.25, long: 2 };

/** How many of two assumed gaps are in time, so that the first gaps of a conversation decide nothing for certain. */
const assumed = { short: 1, long: 1.5 };

/** The number of latest gaps between requests that are considered. */
const maxGaps = 20;

/** The number of requests for which the choice should be right: a conversation seldom ends with the next one. */
const nextRequests = 4;

/**
 * Chooses the lifetime with the lower expected price of this request and the next ones. The conversation's latest gaps
 * estimate whether the next request comes within five minutes, an hour, or later.
 * @param messages the conversation
 * @param now epoch ms
 */
export function chooseRetention(
  cacheRetention: CacheRetention | "auto",
  { provider, id }: Pick<ModelConfiguration, "provider" | "id">,
  messages: readonly Message[],
  now: number,
): CacheRetention {
  if (cacheRetention !== "auto") return cacheRetention;
  const paysForTime = provider === "anthropic" || (provider === bedrockProvider && id.includes("claude"));
  if (!paysForTime) return "short";
  const replies = messages.filter(isReply);
  const last = replies.at(-1);
  const times = [...replies.map(({ timestamp }) => timestamp), now].slice(-maxGaps - 1);
  const gaps = times.slice(1).map((time, index) => time - (times[index] ?? time));
  // The newest messages are not cached yet: about as many as between two earlier requests.
  const added = 1 / (replies.length + 1);
  const isWarm = last !== undefined && now - last.timestamp < cachedMs[last.context.cached ?? "short"];
  const cost = (kind: "short" | "long") => {
    const inTime = (gaps.filter((gap) => gap < cachedMs[kind]).length + assumed[kind]) / (gaps.length + 2);
    const first = isWarm ? price.read * (1 - added) + price[kind] * added : price[kind];
    return first + nextRequests * (inTime * price.read + (1 - inTime) * price[kind]);
  };
  return cost("long") < cost("short") ? "long" : "short";
}
