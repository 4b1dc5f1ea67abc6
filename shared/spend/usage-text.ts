import type { BudgetList, BudgetState, BudgetUse, UsageResult } from "../protocol/usage.ts";
import { dollarsOf } from "./dollars.ts";

const inDollars = (dollars: number) => dollarsOf(Math.round(dollars * 1_000_000));

/** What was spent today and this month, in two lines: `Today (2026-11-24): $0.41, 12 calls; the cache saved $1.90`. */
export function spentLines({ today, month }: Pick<UsageResult, "today" | "month">): string[] {
  return [
    `Today (${today.date}): ${spentText(today)}`,
    `This month (since ${month.since}): ${spentText(month)}`,
  ];
}

function spentText({
  dollars,
  calls,
  estimated,
  savedDollars,
  interrupted = 0,
}: UsageResult["total"] | UsageResult["today"]): string {
  const guess = estimated === 0 ? "" : ` (the price of ${estimated} is an estimate)`;
  const cut = interrupted === 0 ? "" : ` (${interrupted} interrupted, counted at most)`;
  return `${inDollars(dollars)}, ${calls} ${calls === 1 ? "call" : "calls"}${guess}${cut}${savedText(savedDollars)}`;
}

/** `; the cache saved $1.90`; empty when it saved nothing. */
export function savedText(savedDollars: number): string {
  return savedDollars > 0 ? `; the cache saved ${inDollars(savedDollars)}` : "";
}

/** An amount of a budget: `$0.50` or `20,000 tokens`. */
export function amountText({ unit }: Pick<BudgetState, "unit">, amount: number): string {
  return unit === "usd" ? inDollars(amount) : `${amount.toLocaleString("en-US")} tokens`;
}

/** What a budget limits: `everything`, `heartbeat`, `agent work`, `each channel`. */
export function scopeText({ scope, of }: Pick<BudgetState, "scope" | "of">): string {
  if (scope === "all") return "everything";
  if (scope === "run") return "each message";
  if (of === undefined) return `each ${scope}`;
  return scope === "kind" ? of : `${scope} ${of}`;
}

const periods = { day: "a day", month: "a month", session: "until its reset", run: "" };

/** What happens at a budget's limit. */
export const limitActions = {
  warn: "warns",
  refuse: "refuses",
  ask: "asks you",
} as const;

/** A list of budgets as lines for people: `day: $1.20 of $10.00 a day for everything; asks you`. */
export function budgetLines({ enabled, rules }: BudgetList): string[] {
  if (!enabled) return ["Budgets are off (`gsv config set budgets.enabled true`)."];
  if (rules.length === 0) return ["There are no budgets; `gsv budget set day=10` adds one."];
  return rules.map((rule) => {
    const limit = amountText(rule, rule.limit);
    const period = periods[rule.per] && ` ${periods[rule.per]}`;
    return `${rule.id}: ${usedText(rule)}${limit}${period} for ${scopeText(rule)}; ${limitActions[rule.atLimit]}`;
  });
}

function usedText(rule: BudgetState): string {
  const { used, of } = rule;
  if (used === undefined) return "at most ";
  const isOne = used.length === 1 && used[0]?.of === undefined;
  const amountOf = ({ amount, held = 0 }: BudgetUse) =>
    amountText(rule, amount) + (held > 0 ? ` (${amountText(rule, held)} reserved)` : "");
  if (isOne || of !== undefined) return `${amountOf(used[0] ?? { amount: 0 })} of `;
  const parts = used.map((part) => `${part.of ?? ""} ${amountOf(part)}`);
  return parts.length === 0 ? "nothing of " : `${parts.join(", ")} of `;
}
