import type { Configuration } from "../configuration/schema.ts";
import type { Usage } from "../protocol/messages.ts";

/** Dollars per million tokens. */
interface Rates {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
}

/** A model's prices in pi-ai's catalogue (`Model.cost`). Zero: unknown. A tier applies to requests with more input tokens. */
export interface PriceList extends Rates {
  tiers?: readonly (Rates & { inputTokensAbove: number })[];
}

/**
 * Tokens that a provider reports. `cacheWrite1h`: the part of `cacheWrite` that stays cached for an hour. `fee`: dollars that
 * the call costs besides its tokens, such as those of a search.
 */
export type PricedUsage = Omit<Usage, "totalTokens"> & { cacheWrite1h?: number; fee?: number };

/**
 * Where a price comes from: `budgets.prices`, pi-ai's catalogue, the server's answer, or `budgets.unknownPrice`, which is an
 * estimate.
 */
export type PriceSource = "config" | "catalogue" | "reported" | "unknown-estimate";

type Budgets = Pick<Configuration["budgets"], "prices" | "unknownPrice"> &
  Partial<Pick<Configuration["budgets"], "enabled">>;

/** What unknown models cost while `unknownPrice` is `refuse`: a call may have begun before. */
const refusedPrice = { input: 5, output: 25 };

/** Anthropic's factors on the input price for writing tokens to the cache, for five minutes and for an hour. */
const writeFactor = { short: 1.25, long: 2 };

/**
 * What a call costs. Only a configured price of 0 is free.
 * @param usage with `cost` as pi-ai or the server reports it
 * @param listed undefined: the model is in no catalogue
 * @param name `PROVIDER/ID`
 * @returns integer μ$, rounded up. `savedMicros`: how much more it would cost without the provider's cache; negative if only
 *   written to
 */
export function priceOf(
  usage: PricedUsage,
  listed: PriceList | undefined,
  name: string,
  budgets: Budgets,
): { micros: number; source: PriceSource; savedMicros: number } {
  const { input, cacheRead, cacheWrite, fee = 0 } = usage;
  const { source, list } = pricesOf(listed, name, budgets);
  const reported = typeof usage.cost === "object" ? usage.cost.total : (usage.cost ?? 0);
  if (source === "unknown-estimate" && reported > 0)
    return { micros: microsOf((reported + fee) * 1e6), source: "reported", savedMicros: 0 };
  const rates = ratesFor(list, input + cacheRead + cacheWrite);
  const ofTokens =
    source === "catalogue" && reported > 0
      ? reported * 1e6 + unlistedParts(usage, listed)
      : costBy(rates, usage);
  const micros = microsOf(ofTokens + fee * 1e6);
  const uncached = costBy(rates, { ...usage, ...onlyInput(usage) }) + fee * 1e6;
  return { micros, source, savedMicros: Math.round(uncached) - micros };
}

/** How long a request stays cached: pi-ai's `cacheRetention`. */
export type CacheRetention = "none" | "short" | "long";

/** The size of a call that has not been made. `cacheRetention`: absent if it is not known. `fee`: as in `PricedUsage`. */
interface PlannedCall {
  inputTokens: number;
  fee?: number | undefined;
  cacheRetention?: CacheRetention | undefined;
}

/**
 * The upper bound of a call: nothing is cached, and all of it is written to the cache. μ$, not rounded.
 * @returns `refused`: the model's price is unknown, and budgets are on and refuse such models
 */
export function upperBound(
  { inputTokens, cacheRetention = "long", fee = 0 }: PlannedCall,
  listed: PriceList | undefined,
  name: string,
  budgets: Budgets,
): { inputMicros: number; outputMicrosPerToken: number } | "refused" {
  const { source, list } = pricesOf(listed, name, budgets);
  const { unknownPrice, enabled = true } = budgets;
  if (source === "unknown-estimate" && unknownPrice === "refuse" && enabled) return "refused";
  const tiers = (list.tiers ?? []).filter(({ inputTokensAbove }) => inputTokens > inputTokensAbove);
  const dearest = (rate: (rates: Rates) => number) => Math.max(...[list, ...tiers].map(rate));
  return {
    inputMicros: inputTokens * dearest((rates) => dearestInput(rates, cacheRetention)) + fee * 1e6,
    outputMicrosPerToken: dearest(({ output }) => output),
  };
}

function dearestInput({ input, cacheWrite }: Rates, cacheRetention: CacheRetention): number {
  if (cacheRetention === "none") return input;
  return Math.max(input, cacheWrite, cacheRetention === "long" ? input * writeFactor.long : 0);
}

function pricesOf(
  listed: PriceList | undefined,
  name: string,
  { prices, unknownPrice }: Budgets,
): { source: Exclude<PriceSource, "reported">; list: PriceList } {
  const configured = Object.hasOwn(prices, name) ? prices[name] : undefined;
  if (configured) return { source: "config", list: completed(configured) };
  if (listed && hasPrice(listed)) {
    const tiers = listed.tiers?.map((tier) => ({ ...tier, ...withCache(tier) }));
    return { source: "catalogue", list: { ...withCache(listed), ...(tiers ? { tiers } : {}) } };
  }
  return {
    source: "unknown-estimate",
    list: completed(unknownPrice === "refuse" ? refusedPrice : unknownPrice),
  };
}

/** Whether a catalogue has a price for a model. Plans that do not bill by token, previews and unknown models have zeros there. */
export function hasPrice({ input, output }: Pick<Rates, "input" | "output">): boolean {
  return input > 0 || output > 0;
}

function completed(price: Pick<Rates, "input" | "output"> & Partial<Rates>): Rates {
  const { input, output, cacheRead = input, cacheWrite = input * writeFactor.short } = price;
  return { input, output, cacheRead, cacheWrite };
}

/** A catalogue has 0 where it does not know the price of cached tokens: at most the price of input. */
function withCache({ input, output, cacheRead, cacheWrite }: Rates): Rates {
  return { input, output, cacheRead: cacheRead || input, cacheWrite: cacheWrite || input };
}

/** The tier with the highest threshold that the request exceeds. */
function ratesFor({ tiers = [], ...base }: PriceList, inputTokens: number): Rates {
  const reached = tiers.filter(({ inputTokensAbove }) => inputTokens > inputTokensAbove);
  return reached.reduce<Rates & { inputTokensAbove: number }>(
    (highest, tier) => (tier.inputTokensAbove > highest.inputTokensAbove ? tier : highest),
    { ...base, inputTokensAbove: -1 },
  );
}

function costBy({ input, output, cacheRead, cacheWrite }: Rates, usage: PricedUsage): number {
  const { cacheWrite1h = 0 } = usage;
  const written = cacheWrite * (usage.cacheWrite - cacheWrite1h) + input * writeFactor.long * cacheWrite1h;
  return input * usage.input + output * usage.output + cacheRead * usage.cacheRead + written;
}

function onlyInput({ input, cacheRead, cacheWrite }: PricedUsage) {
  return { input: input + cacheRead + cacheWrite, cacheRead: 0, cacheWrite: 0, cacheWrite1h: 0 };
}

/** The cached tokens that pi-ai counts as free, because its catalogue has no price for them. */
function unlistedParts(usage: PricedUsage, listed: PriceList | undefined): number {
  if (!listed) return 0;
  const raw = ratesFor(listed, usage.input + usage.cacheRead + usage.cacheWrite);
  const short = usage.cacheWrite - (usage.cacheWrite1h ?? 0);
  return (
    (raw.cacheRead === 0 ? raw.input * usage.cacheRead : 0) + (raw.cacheWrite === 0 ? raw.input * short : 0)
  );
}

/** Rounded up, but for the error of floating-point numbers. */
function microsOf(micros: number): number {
  return Math.ceil(Number(micros.toFixed(3)));
}
