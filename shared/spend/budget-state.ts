import type { Configuration } from "../configuration/schema.ts";
import { code, PeerError } from "../protocol/errors.ts";
import type { BudgetList, BudgetState } from "../protocol/usage.ts";
import { addDays, localTime, timeOfDay } from "../runtime/zoned-time.ts";
import { set } from "../world/expression.ts";
import type { Table } from "../world/world.ts";
import type { Amounts } from "./amounts.ts";
import { firstOfNextMonth, periodOf } from "./budget-refusal.ts";
import { type DayView, dayKey, expiryOf, heldOn, raisedBy, readDay, readDays, totalOf } from "./day-view.ts";
import { type BudgetRule, inUnit } from "./rules.ts";

type Settings = Pick<Configuration, "budgets" | "userTimezone">;

/** Today, and the days of its month until then. */
interface Days {
  date: string;
  timezone: string;
  days: readonly DayView[];
}

/** Max raises of a rule's limit in a day, to bound the day's item. */
const maxRaises = 100;

/** The budgets, and what is used of each. @param now epoch ms */
export async function readBudgets(
  table: Pick<Table, "query">,
  settings: Settings,
  now: number,
): Promise<BudgetList> {
  const { enabled, rules } = settings.budgets;
  const month = await daysOfMonth(table, settings, now);
  return { enabled, date: month.date, rules: rules.map((rule) => stateOf(rule, month)) };
}

async function daysOfMonth(
  table: Pick<Table, "query">,
  { userTimezone }: Settings,
  now: number,
): Promise<Days> {
  const { date } = localTime(now, userTimezone);
  const days = await readDays(table, `${date.slice(0, 8)}01`, date);
  return { date, timezone: userTimezone, days };
}

/**
 * Raises the limit of a rule, for today or, if it is a month's, for this month.
 * @throws PeerError 404 for an unknown rule, 400 for the wrong unit, 429 after too many raises
 */
export async function raiseBudget(
  table: Table,
  settings: Settings,
  now: number,
  { id, usd, tokens, raiseId }: { id: string; usd?: number; tokens?: number; raiseId: string },
): Promise<BudgetState> {
  const { rules } = settings.budgets;
  const rule = rules.find((one) => one.id === id);
  if (!rule) {
    const known = rules.map((one) => one.id).join(", ");
    throw new PeerError(code.notFound, `there is no budget ${id}; there are: ${known || "none"}`);
  }
  const { unit } = unitOf(rule);
  const amount = unit === "usd" ? usd && Math.round(usd * 1_000_000) : tokens;
  if (!amount) throw new PeerError(code.badRequest, `budget ${id} is in ${unit}; name that amount`);
  const { date } = localTime(now, settings.userTimezone);
  const { raises } = await readDay(table, date);
  if (Object.keys(raises).filter((name) => name.startsWith(`${id}:`)).length >= maxRaises)
    throw new PeerError(
      code.rateLimited,
      `budget ${id} was raised ${maxRaises} times today; set another limit`,
    );
  await table.update(dayKey(date), [set(`x:${id}:${raiseId}`, amount), set("expiresAt", expiryOf(date))]);
  return stateOf(rule, await daysOfMonth(table, settings, now));
}

const unitOf = ({ usd, tokens }: BudgetRule) =>
  tokens === undefined
    ? ({ unit: "usd", limit: usd ?? 0, size: 1_000_000 } as const)
    : ({ unit: "tokens", limit: tokens, size: 1 } as const);

function stateOf(rule: BudgetRule, { date, timezone, days }: Days): BudgetState {
  const { id, scope, of, atLimit } = rule;
  const per = periodOf(rule);
  const counted = per === "month" ? days : days.filter((day) => day.date === date);
  const { sums, raises } = totalOf(counted);
  const { unit, limit, size } = unitOf(rule);
  const raised = raisedBy(id, raises) / size;
  const held = heldOn(counted);
  const uses = scope === "run" || scope === "session" ? undefined : usesOf(rule, sums);
  const used = uses?.map(([part, sum]) => {
    const amount = (sums[sum] ?? 0) / size;
    const left = Number(Math.max(0, limit + raised - amount).toFixed(6));
    return { ...(part ? { of: part } : {}), amount, held: (held[sum] ?? 0) / size, left };
  });
  const resetsOn = per === "day" ? addDays(date, 1) : per === "month" ? firstOfNextMonth(date) : undefined;
  return {
    ...{ id, scope, per, atLimit, unit, raised, limit: limit + raised },
    ...(of === undefined ? {} : { of }),
    ...(used ? { used } : {}),
    ...(resetsOn === undefined ? {} : { resetsOn, resetsAt: timeOfDay(resetsOn, "00:00", timezone) }),
  };
}

/** The sums that a rule limits, by the part of its scope; the part is empty if the rule has one limit. */
function usesOf(rule: BudgetRule, sums: Amounts): [part: string, sum: string][] {
  const { scope, of } = rule;
  if (scope === "all") return [["", inUnit("all", rule)]];
  if (of !== undefined) return [["", inUnit(`${scope}:${of}`, rule)]];
  return Object.keys(sums).flatMap((sum): [string, string][] => {
    const [name = ""] = sum.split("#");
    const isOfRule = name.startsWith(`${scope}:`) && inUnit(name, rule) === sum;
    return isOfRule ? [[name.slice(scope.length + 1), sum]] : [];
  });
}
