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
  // Speech, per million characters. The last one is billed by audio tokens, about 1.3 for each character.
  [/^tts-1-hd/, perMillion(30)],
  [/^tts-1/, perMillion(15)],
  [/^gpt-4o-mini-tts/, perMillion(16)],
];

/** Dollars for a search. Brave's and Tavily's: without a monthly plan, of which some include free searches. */
const searchPrices: readonly [RegExp, number][] = [
  // https://brave.com/search/api/, https://docs.tavily.com/documentation/api-credits
  [/^brave$/, 0.005],
  [/^tavily$/, 0.008],
  [/^searxng$/, 0],
  // https://platform.claude.com/docs/en/about-claude/pricing, https://openai.com/api/pricing, https://ai.google.dev/pricing
  [/^anthropic\//, 0.01],
  [/^openai\//, 0.01],
  [/^google\/gemini-2/, 0.035],
  [/^google\/gemini-[3-9]/, 0.014],
];

/** A price list for a service whose calls have a fee and no tokens. */
export const feeOnly = perMillion(1);

/** Dollars for a search. @param name a service, or `PROVIDER/ID` of a model that searches. Undefined: it is unknown */
export function searchPrice(name: string): number | undefined {
  return searchPrices.find(([pattern]) => pattern.test(name))?.[1];
}

/** The price of a model that transcribes or speaks, per million tokens or characters. Undefined: it is unknown. */
export function servicePrice(model: string): PriceList | undefined {
  return prices.find(([pattern]) => pattern.test(model))?.[1];
}
