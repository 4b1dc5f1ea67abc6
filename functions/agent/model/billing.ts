import type { Api, Model, AssistantMessage as PiReply } from "@earendil-works/pi-ai";
import type { PiUsage } from "../../../shared/protocol/messages.ts";
import { piUsage } from "../../../shared/protocol/stored-message.ts";
import { hasPrice, type PricedUsage } from "../../../shared/spend/price.ts";
import { tokenRate } from "../context/context-size.ts";
import { isRefused, mayHaveAnswered } from "./model-failure.ts";
import type { ResponseWatch } from "./response-watch.ts";

/**
 * What the provider bills for an attempt: by its report; nothing for a request that it refused or never got; the input and
 * about so many streamed tokens when a report is missing; or nobody knows.
 */
export type Billed = PricedUsage | "nothing" | "unknown" | { streamedTokens: number };

/** The usage with the price list's cost, or the one that the server reports. */
export function usageOf(
  { usage }: PiReply,
  { cost: listed }: Model<Api>,
  { cost: reported }: ResponseWatch,
): PiUsage {
  const { input, output, cacheRead, cacheWrite, totalTokens } = usage;
  const cost = hasPrice(listed) ? usage.cost : reported;
  return piUsage({
    ...{ input, output, cacheRead, cacheWrite, totalTokens },
    ...(cost === undefined ? {} : { cost }),
  });
}

/** A stopped or broken answer has no usage, or only that of its beginning. */
export function billedFor(message: PiReply, model: Model<Api>, watch: ResponseWatch): Billed {
  const { stopReason, usage, content } = message;
  const isCut = stopReason === "error" || stopReason === "aborted";
  if (stopReason === "error" && isRefused(message, watch)) return "nothing";
  if (stopReason === "error" && mayHaveAnswered(message, watch)) return "unknown";
  const streamedTokens = content.length === 0 ? 0 : Math.ceil(JSON.stringify(content).length * tokenRate());
  if (usage.totalTokens === 0) return { streamedTokens };
  const { cacheWrite1h } = usage;
  const reported = {
    ...usageOf(message, model, watch),
    ...(cacheWrite1h === undefined ? {} : { cacheWrite1h }),
  };
  if (!isCut) return reported;
  const { cost: _, ...begun } = reported;
  return { ...begun, output: Math.max(usage.output, streamedTokens) };
}
