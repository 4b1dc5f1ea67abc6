import type { BudgetRequester } from "../protocol/approvals.ts";
import { addDays } from "../runtime/zoned-time.ts";
import { type Amounts, plus } from "./amounts.ts";
import type { Sums } from "./book.ts";
import { dollarsOf } from "./dollars.ts";
import type { UsedLimit } from "./fit.ts";
import { type BudgetRule, isOwn, isTokens, type Price } from "./rules.ts";

/** What somebody who is no owner reads. */
export const publicText = "not available today";

const periods = { day: "today's", month: "this month's", session: "this conversation's", run: "this run's" };

const resets: Record<keyof typeof periods, (date: string) => string> = {
  day: (date) => `It resets at midnight (${addDays(date, 1)} 00:00).`,
  month: (date) => `It resets on the first of the month (${firstOfNextMonth(date)} 00:00).`,
  session: () => "It resets with /reset.",
  run: () => "Your next message begins a new run.",
};

/** @param date `YYYY-MM-DD` */
export const firstOfNextMonth = (date: string) => `${addDays(`${date.slice(0, 8)}01`, 31).slice(0, 8)}01`;

/** The period of a rule. */
export function periodOf({ scope, per }: BudgetRule): keyof typeof periods {
  return scope === "run" ? "run" : (per ?? "day");
}

/**
 * Why a call is refused: what has used how much, when that resets, and how to raise the limit.
 * @param need the least that the call costs, if it is known
 * @param isPublic somebody who is no owner reads it: no figures
 */
export function refusalText(
  limit: UsedLimit,
  sums: Sums,
  need: number | undefined,
  { isPublic }: { isPublic: boolean },
): string {
  if (isPublic) return publicText;
  const { rule } = limit;
  return `budget: ${limitText(limit, sums, need)} To go on now: gsv budget raise ${rule.id} ${amountOf(rule)}`;
}

/** What the owner is asked when a run has reached a limit. @param bound the most that its next call costs */
export function requesterOf(
  limit: UsedLimit,
  sums: Sums,
  { need, bound, spent }: { need: number; bound: Price; spent: number },
): BudgetRequester {
  const { rule, scope, used, max } = limit;
  const why = limitText(limit, sums, need);
  const unit = rule.tokens === undefined ? "usd" : "tokens";
  const once = isTokens(scope) ? bound.tokens : bound.micros;
  const run = Math.max(once, rule.tokens ?? Math.round((rule.usd || 1) * 1_000_000));
  return {
    ...{ kind: "budget", why: `${why.charAt(0).toUpperCase()}${why.slice(1)}`, ruleId: rule.id, unit },
    // Others that were allowed to may have passed the limit.
    ...{ spent, once, run, day: run + Math.max(0, used - max) },
  };
}

/** What has used how much of a limit, what else is needed, and when it resets. */
function limitText(
  { rule, scope, used, max }: UsedLimit,
  { day, earlier }: Sums,
  need: number | undefined,
): string {
  const show = isTokens(scope) ? (amount: number) => `${amount} tokens` : dollarsOf;
  const period = periodOf(rule);
  const of =
    rule.scope === "all" || isOwn(scope) ? "" : ` for ${scope.replace("#tokens", "").replace(":", " ")}`;
  const next = need === undefined ? "" : `, and the next call may cost ${show(need)}`;
  const parts = scope === "all" ? usesOf(period === "month" ? plus(earlier.sums, day.sums) : day.sums) : "";
  return `${periods[period]} limit of ${show(max)}${of} is reached: ${show(used)} used or reserved${parts}${next}. ${resets[period](day.date)}`;
}

/** Doubles the limit; a limit of nothing is raised by a dollar. */
const amountOf = ({ usd, tokens }: BudgetRule) => `${tokens ?? (usd || 1)}`;

/** What a sum consists of: ` (conversations $4.10, heartbeat $0.90)`. */
function usesOf(sums: Amounts): string {
  const kinds = ["heartbeat", "cron", "guest", "maintenance"].map(
    (kind) => [kind, sums[`kind:${kind}`] ?? 0] as const,
  );
  const turns = (sums.all ?? 0) - kinds.reduce((sum, [, amount]) => sum + amount, 0);
  const shown = [["conversations", turns] as const, ...kinds].filter(([, amount]) => amount > 0);
  return shown.length === 0
    ? ""
    : ` (${shown.map(([kind, amount]) => `${kind} ${dollarsOf(amount)}`).join(", ")})`;
}
