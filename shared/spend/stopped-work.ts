import type { Configuration } from "../configuration/schema.ts";
import { addDays, localTime } from "../runtime/zoned-time.ts";
import type { Table } from "../world/world.ts";
import { extraOf, reachedMark } from "./book.ts";
import { refusalText } from "./budget-refusal.ts";
import { readDay, readDays, totalOf } from "./day-view.ts";
import { isOwn, limitsOf, type Payer } from "./rules.ts";

/**
 * Why work may not begin that the gateway itself would begin: less of a limit is left than such work has needed when it was
 * refused. Undefined when it may begin; the agent decides about each call.
 * @param now epoch ms
 */
export async function whyStopped(
  table: Pick<Table, "get" | "query">,
  { budgets, userTimezone }: Pick<Configuration, "budgets" | "userTimezone">,
  payer: Payer,
  now: number,
): Promise<string | undefined> {
  if (!budgets.enabled) return undefined;
  const { date } = localTime(now, userTimezone);
  const isMonthly = !date.endsWith("-01") && budgets.rules.some(({ per }) => per === "month");
  const [day, before] = await Promise.all([
    readDay(table, date),
    isMonthly ? readDays(table, `${date.slice(0, 8)}01`, addDays(date, -1)) : [],
  ]);
  const earlier = totalOf(before);
  const limits = limitsOf(budgets.rules, payer, extraOf({ day, earlier }));
  for (const limit of limits) {
    const { rule, scope, max } = limit;
    if (rule.atLimit === "warn" || isOwn(scope)) continue;
    // The first such work of a day asks, and the others do not begin.
    const isAsked = (day.marks[reachedMark(rule, payer.kind)] ?? -1) >= max;
    if (rule.atLimit === "ask" && !isAsked) continue;
    const used = (day.sums[scope] ?? 0) + (rule.per === "month" ? (earlier.sums[scope] ?? 0) : 0);
    const need = day.needs[`${scope}@${payer.kind}`];
    if (used >= max || used + (need ?? 0) > max)
      return refusalText({ ...limit, used }, { day, earlier }, need, { isPublic: false });
  }
  return undefined;
}
