import type { PriceList } from "./price.ts";

const perMillion = (input: number, output = 0): PriceList => ({ input, output, cacheRead: 0, cacheWrite: 0 });

/**
 * Tokens of a second of audio where a server reports none. OpenAI's models count 10
 * (https://platform.openai.com/docs/guides/realtime-costs).
 */
export const audioTokensPerSecond = 10;

/**
 * OpenAI's list prices; Whisper costs $0.006 a minute. Nothing updates them. Compare them with https://openai.com/api/pricing;
 * `budgets.prices` overrides each.
 */
const prices: readonly [RegExp, PriceList][] = [
  [/^whisper-1$/, perMillion(10)],
  [/^gpt-4o-transcribe/, perMillion(6, 10)],
  [/^gpt-4o-mini-transcribe/, perMillion(3, 5)],
];

/** The price of a model that transcribes, per million tokens. Undefined: it is unknown. */
export function servicePrice(model: string): PriceList | undefined {
  return prices.find(([pattern]) => pattern.test(model))?.[1];
}
