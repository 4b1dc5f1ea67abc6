import type { DayView } from "./day-view.ts";
import { dollarsOf } from "./dollars.ts";
import type { UsedLimit } from "./fit.ts";
import { type BudgetRule, isOwn, isTokens } from "./rules.ts";

/** What somebody who is no owner reads. */
export const publicText = "not available today";

const periods = { day: "today's", month: "this month's", session: "this conversation's", run: "this run's" };

const resets = {
  day: "It resets at midnight.",
  month: "It resets on the first of the month.",
  session: "It resets with /reset.",
  run: "Your next message begins a new run.",
};

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
  { rule, scope, used, max }: UsedLimit,
  day: DayView,
  need: number | undefined,
  { isPublic }: { isPublic: boolean },
): string {
  if (isPublic) return publicText;
  const show = isTokens(scope) ? (amount: number) => `${amount} tokens` : dollarsOf;
  const period = periodOf(rule);
  const of =
    rule.scope === "all" || isOwn(scope) ? "" : ` for ${scope.replace("#tokens", "").replace(":", " ")}`;
  const next = need === undefined ? "" : `, and the next call may cost ${show(need)}`;
  const parts = scope === "all" && period === "day" ? usesOf(day) : "";
  return `budget: ${periods[period]} limit of ${show(max)}${of} is reached: ${show(used)} used or reserved${parts}${next}. ${resets[period]} To go on now: gsv budget raise ${rule.id} ${amountOf(rule)}`;
}

/** Doubles the limit; a limit of nothing is raised by a dollar. */
const amountOf = ({ usd, tokens }: BudgetRule) => `${tokens ?? (usd || 1)}`;

/** What a day's sum consists of: ` (conversations $4.10, heartbeat $0.90)`. */
function usesOf({ sums }: DayView): string {
  const kinds = ["heartbeat", "cron", "guest", "maintenance"].map(
    (kind) => [kind, sums[`kind:${kind}`] ?? 0] as const,
  );
  const turns = (sums.all ?? 0) - kinds.reduce((sum, [, amount]) => sum + amount, 0);
  const shown = [["conversations", turns] as const, ...kinds].filter(([, amount]) => amount > 0);
  return shown.length === 0
    ? ""
    : ` (${shown.map(([kind, amount]) => `${kind} ${dollarsOf(amount)}`).join(", ")})`;
}
