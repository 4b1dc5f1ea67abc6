import * as v from "valibot";
import { count, idField } from "./schemas.ts";

/** By what `usage.get` groups spending. */
export const usageGroups = ["day", "agent", "session", "model", "kind", "channel", "job"] as const;
export type UsageGroup = (typeof usageGroups)[number];

const date = v.pipe(v.string(), v.isoDate("expected a date such as 2026-11-24"));

/** The largest amount that a limit is raised by: dollars. */
const maxDollars = 10_000_000;

export const usageParams = {
  "usage.get": v.optional(
    v.object({ by: v.optional(v.picklist(usageGroups)), since: v.optional(date), to: v.optional(date) }),
    {},
  ),
  "budget.list": v.optional(v.object({}), {}),
  "budget.raise": v.pipe(
    v.object({
      id: idField,
      usd: v.optional(v.pipe(v.number(), v.minValue(0.000001), v.maxValue(maxDollars))),
      tokens: v.optional(count(1, 1_000_000_000_000)),
      /** Of this raise: a repeated request with it raises nothing. */
      raiseId: v.pipe(v.string(), v.regex(/^[\w-]{1,64}$/, "expected up to 64 of A-Z, a-z, 0-9, _ and -")),
    }),
    v.check(({ usd, tokens }) => (usd === undefined) !== (tokens === undefined), "expected usd or tokens"),
  ),
};

/** What model calls used. Tokens as the providers report them; `input` excludes those read from or written to a cache. */
export interface UsageFigures {
  calls: number;
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  /** US dollars. Of a period: reservations of calls in progress included. */
  dollars: number;
  /** Number of calls of a model whose price is unknown. Earlier versions also count interrupted calls. */
  estimated: number;
  /** US dollars that reading from the providers' caches saved, less what writing to them cost more. */
  savedDollars: number;
  /** Number of calls whose end nobody knows: they count with all that was reserved. Absent in earlier versions. */
  interrupted?: number;
}

/** Days are those of the user's timezone, `YYYY-MM-DD`. */
export interface UsageResult {
  today: { date: string } & UsageFigures;
  /** This month until now. */
  month: { since: string } & UsageFigures;
  /** From `since` until now, or until the end of the day `to`. */
  total: { since: string } & UsageFigures;
  /**
   * The parts of `total`, dearest first; days in their order. A session has only dollars. `name` is empty for calls without an
   * agent, channel or job, and for sessions that are gone.
   */
  groups?: UsageGroupEntry[];
  /** The part of `total.dollars` that is in no group: calls in progress, and calls that were interrupted. */
  restDollars?: number;
  /** As in `budget.list`. Absent in earlier versions. */
  budgets?: BudgetState[];
}

export type UsageGroupEntry = { name: string; dollars: number } & Partial<UsageFigures>;

/** A rule of `budgets.rules`, and how much of its limit is used. Amounts in `unit`; dollars or tokens. */
export interface BudgetState {
  id: string;
  scope: string;
  of?: string;
  per: "day" | "month" | "session" | "run";
  atLimit: "warn" | "refuse" | "ask";
  unit: "usd" | "tokens";
  /** Including `raised`. */
  limit: number;
  raised: number;
  /**
   * Reservations of calls in progress included. One entry for each agent, channel or job that has used something, if the rule
   * names none. Absent for runs and sessions, each of which has its own limit.
   */
  used?: BudgetUse[];
  /** The day at whose beginning the limit is new, in the user's timezone; absent for runs and sessions. */
  resetsOn?: string;
  /** That moment, epoch ms. Absent in earlier versions. */
  resetsAt?: number;
}

/** What is used of a limit. `amount` includes `held`, which is reserved for calls in progress; absent in earlier versions. */
export interface BudgetUse {
  of?: string;
  amount: number;
  held?: number;
  left?: number;
}

export interface BudgetList {
  enabled: boolean;
  /** Today in the user's timezone. */
  date: string;
  rules: BudgetState[];
}

export interface UsageResults {
  "usage.get": UsageResult;
  "budget.list": BudgetList;
  /** The rule after the raise. */
  "budget.raise": { ok: true; rule: BudgetState };
}
