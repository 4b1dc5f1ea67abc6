import type { Configuration } from "../configuration/schema.ts";
import { code, PeerError } from "../protocol/errors.ts";
import type { BudgetList, BudgetState } from "../protocol/usage.ts";
import { addDays } from "../runtime/zoned-time.ts";
import { set } from "../world/expression.ts";
import type { Table } from "../world/world.ts";
import type { Amounts } from "./amounts.ts";
import { type DayView, dayKey, expiryOf, raisedBy, readDay, readDays, totalOf } from "./day-view.ts";

type Budgets = Configuration["budgets"];
type Rule = Budgets["rules"][number];

/** Max raises of a rule's limit in a day, to bound the day's item. */
const maxRaises = 100;

/** The budgets, and what is used of each. @param date today in the user's timezone */
export async function readBudgets(
  table: Pick<Table, "query">,
  date: string,
  { enabled, rules }: Budgets,
): Promise<BudgetList> {
  const days = await readDays(table, `${date.slice(0, 8)}01`, date);
  return { enabled, date, rules: rules.map((rule) => stateOf(rule, days, date)) };
}

/**
 * Raises the limit of a rule, for today or, if it is a month's, for this month.
 * @throws PeerError 404 for an unknown rule, 400 for the wrong unit, 429 after too many raises
 */
export async function raiseBudget(
  table: Table,
  date: string,
  { rules }: Budgets,
  { id, usd, tokens, raiseId }: { id: string; usd?: number; tokens?: number; raiseId: string },
): Promise<BudgetState> {
  const rule = rules.find((one) => one.id === id);
  if (!rule) {
    const known = rules.map((one) => one.id).join(", ");
    throw new PeerError(code.notFound, `there is no budget ${id}; there are: ${known || "none"}`);
  }
  const { unit } = unitOf(rule);
  const amount = unit === "usd" ? usd && Math.round(usd * 1_000_000) : tokens;
  if (!amount) throw new PeerError(code.badRequest, `budget ${id} is in ${unit}; name that amount`);
  const from = `${date.slice(0, 8)}01`;
  const { raises } = await readDay(table, date);
  if (Object.keys(raises).filter((name) => name.startsWith(`${id}:`)).length >= maxRaises)
    throw new PeerError(
      code.rateLimited,
      `budget ${id} was raised ${maxRaises} times today; set another limit`,
    );
  await table.update(dayKey(date), [set(`x:${id}:${raiseId}`, amount), set("expiresAt", expiryOf(date))]);
  return stateOf(rule, await readDays(table, from, date), date);
}

const unitOf = ({ usd, tokens }: Rule) =>
  tokens === undefined
    ? ({ unit: "usd", limit: usd ?? 0, size: 1_000_000 } as const)
    : ({ unit: "tokens", limit: tokens, size: 1 } as const);

function stateOf(rule: Rule, days: readonly DayView[], date: string): BudgetState {
  const { id, scope, of, atLimit } = rule;
  const per = scope === "run" ? "run" : (rule.per ?? "day");
  const { sums, raises } = totalOf(per === "month" ? days : days.filter((day) => day.date === date));
  const { unit, limit, size } = unitOf(rule);
  const raised = raisedBy(id, raises) / size;
  const uses = scope === "run" || scope === "session" ? undefined : usesOf(rule, sums, unit === "tokens");
  const used = uses?.map(([name, micros]) => {
    const amount = micros / size;
    const left = Number(Math.max(0, limit + raised - amount).toFixed(6));
    return { ...(name ? { of: name } : {}), amount, left };
  });
  const resetsOn = per === "day" ? addDays(date, 1) : per === "month" ? nextMonth(date) : undefined;
  return {
    ...{ id, scope, per, atLimit, unit, raised, limit: limit + raised },
    ...(of === undefined ? {} : { of }),
    ...(used ? { used } : {}),
    ...(resetsOn === undefined ? {} : { resetsOn }),
  };
}

const nextMonth = (date: string) => `${addDays(`${date.slice(0, 8)}01`, 31).slice(0, 8)}01`;

/** What is used of a rule, by the part of its scope; the part is empty if the rule has one limit. */
function usesOf({ scope, of }: Rule, sums: Amounts, isTokens: boolean): [part: string, amount: number][] {
  const suffix = isTokens ? "#tokens" : "";
  if (scope === "all") return [["", sums[`all${suffix}`] ?? 0]];
  if (of !== undefined) return [["", sums[`${scope}:${of}${suffix}`] ?? 0]];
  return Object.entries(sums).flatMap(([name, amount]): [string, number][] => {
    const isOfUnit = name.startsWith(`${scope}:`) && name.endsWith("#tokens") === isTokens;
    return isOfUnit ? [[name.slice(scope.length + 1, name.length - suffix.length), amount]] : [];
  });
}
