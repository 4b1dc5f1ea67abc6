import { type Prices, prices as published } from "../bench/deployed/prices.ts";
import { round } from "../bench/figures.ts";
import type { Counts } from "./place.ts";

/** More than `npm run bench` prices for a turn without tools, with the steps of the first hour in proportion. */
const turnDollars = 0.0001;
/** The first answer of the default model on Bedrock, an hour of sweeps and alarms, and the reading of metrics. */
const otherDollars = 0.06;

/** What a run costs at most, without free tiers. */
export function expectedDollars(turns: number): number {
  return round(otherDollars + turns * turnDollars, 2);
}

/** The price of each counted amount, and their sum, in dollars. */
export function priced(counts: Counts, prices: Prices = published): { bill: Counts; dollars: number } {
  const entries = Object.entries(counts) as [keyof Prices, number][];
  const bill = Object.fromEntries(entries.map(([name, amount]) => [name, round(amount * prices[name], 6)]));
  const dollars = round(
    entries.reduce((sum, [name, amount]) => sum + amount * prices[name], 0),
    4,
  );
  return { bill, dollars };
}
