import type { BudgetState, UsageFigures } from "../../../shared/protocol/usage.ts";

/** US dollars as `gsv usage` prints them: cents, and four digits below ten cents. */
export function priceText(dollars: number): string {
  const rounded = Math.round(dollars * 1_000_000) / 1_000_000;
  return `$${rounded.toFixed(Math.abs(rounded) < 0.1 && rounded !== 0 ? 4 : 2)}`;
}

/** What calls cost. A price that nobody knows is `unknown`, or `about` the sum when it was estimated. */
export function costText({
  dollars,
  estimated = 0,
}: Pick<UsageFigures, "dollars"> & Partial<UsageFigures>): string {
  if (estimated === 0) return priceText(dollars);
  return dollars === 0 ? "unknown" : `about ${priceText(dollars)}`;
}

/** An amount of a budget: dollars or tokens. */
export function amountText({ unit }: Pick<BudgetState, "unit">, amount: number): string {
  return unit === "usd" ? priceText(amount) : `${countText(amount)} tokens`;
}

export function countText(count: number): string {
  return count.toLocaleString("en-US");
}

/** The day that is `days` before a date, both `YYYY-MM-DD`. */
export function dayBefore(date: string, days: number): string {
  return new Date(Date.parse(date) - days * 86_400_000).toISOString().slice(0, 10);
}
