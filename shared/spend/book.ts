import type { Configuration } from "../configuration/schema.ts";
import type { ConfigurationStore } from "../configuration/store.ts";
import type { Events } from "../protocol/events.ts";
import { addDays, localTime } from "../runtime/zoned-time.ts";
import { absent, any, below, set } from "../world/expression.ts";
import { type Item, succeeds, type Table } from "../world/world.ts";
import { type Amounts, plus } from "./amounts.ts";
import { type DayView, dayKey, expiryOf, raisedBy, readDay, readDays, totalOf, toView } from "./day-view.ts";
import type { UsedLimit } from "./fit.ts";
import { type BudgetRule, type CallKind, isOwn } from "./rules.ts";

/** Max age of the sums that decide whether a call may begin before its reservation is stored. Milliseconds. */
const freshMs = 60_000;

/** Until this time of day the day before is read again: its last calls may still be settled. */
const settledBy = "00:10";

/** The sums that limits are compared with. */
export interface Sums {
  day: DayView;
  /** The month's earlier days; empty when no rule limits a month. */
  earlier: { sums: Amounts; raises: Amounts };
}

/** The budgets of the configuration, and the sums of the day: read once a minute, and seen with each update. */
export interface Book {
  table: Table;
  now: () => number;
  budgets(): Promise<Configuration["budgets"]>;
  /**
   * Of today.
   * @param from the day, if it is not over yet by another clock
   * @param on the day instead: the one on which a call was reserved
   */
  sums(maxAgeMs?: number, days?: { from?: string | undefined; on?: string | undefined }): Promise<Sums>;
  /** Remembers a day's item as it was just written. */
  see(date: string, item: Item): void;
  /** Marks a limit, and tells about it once: as reached by a call of a kind that needs more than is left, or that it is near. */
  mark(day: DayView, limit: UsedLimit, reached?: { by: CallKind; need: number }): Promise<void>;
  /** Tells the owner's clients. */
  tell: TellBudget;
}

export interface BookSources {
  table: Table;
  configuration: Pick<ConfigurationStore, "load">;
  now: () => number;
  tell: TellBudget;
}

/** Sends an event about budgets to the owner's clients. */
export type TellBudget = <Name extends "budget.warning" | "budget.reached">(
  name: Name,
  payload: Events[Name],
) => Promise<void>;

/** Opens the book of this instance. */
export function openBook({ table, configuration, now, tell }: BookSources): Book {
  let day: { at: number; date: string; view: Promise<DayView> } | undefined;
  let earlier: { at: number; date: string; totals: Sums["earlier"] } | undefined;
  const budgets = async () => (await configuration.load()).budgets;
  const today = async () => localTime(now(), (await configuration.load()).userTimezone).date;

  /** Callers share one read. A failed one is forgotten. */
  function dayView(date: string, maxAgeMs: number): Promise<DayView> {
    if (day?.date === date && day.at + maxAgeMs > now()) return day.view;
    const read = { at: now(), date, view: readDay(table, date) };
    day = read;
    read.view.catch(() => {
      if (day === read) day = undefined;
    });
    return read.view;
  }

  async function earlierDays(date: string): Promise<Sums["earlier"]> {
    const { rules } = await budgets();
    if (date.endsWith("-01") || !rules.some(({ per }) => per === "month")) return { sums: {}, raises: {} };
    const { userTimezone } = await configuration.load();
    const isSettled = localTime(now(), userTimezone).time >= settledBy;
    if (earlier?.date === date && (isSettled || earlier.at + freshMs > now())) return earlier.totals;
    const at = now();
    const days = await readDays(table, `${date.slice(0, 8)}01`, addDays(date, -1));
    earlier = { at, date, totals: totalOf(days) };
    return earlier.totals;
  }

  return {
    table,
    now,
    budgets,
    tell,
    async sums(maxAgeMs = freshMs, { from = "", on } = {}) {
      const now = on ?? (await today());
      const date = now < from ? from : now;
      const [view, before] = await Promise.all([dayView(date, maxAgeMs), earlierDays(date)]);
      return { day: view, earlier: before };
    },
    see(date, item) {
      if (day === undefined || day.date <= date)
        day = { at: now(), date, view: Promise.resolve(toView(date, item)) };
    },
    async mark({ date, marks, needs }, { rule, scope, used, max }, reached) {
      const name = reached ? reachedMark(rule, reached.by) : `${rule.id}@80`;
      const needed = `${scope}@${reached?.by}`;
      const isUnattended = reached?.by === "heartbeat" || reached?.by === "cron";
      if (isUnattended && !isOwn(scope) && needs[needed] !== reached.need)
        await table.update(dayKey(date), [
          set(`n:${needed}`, reached.need),
          set("expiresAt", expiryOf(date)),
        ]);
      if ((marks[name] ?? -1) >= max) return;
      const path = `w:${name}`;
      const isFirst = await succeeds(
        table.update(
          dayKey(date),
          [set(path, max), set("expiresAt", expiryOf(date))],
          any(absent(path), below(path, max)),
        ),
      );
      if (isFirst)
        await tell(reached ? "budget.reached" : "budget.warning", {
          ruleId: rule.id,
          scope,
          used,
          limit: max,
          day: date,
        });
    },
  };
}

/** The mark of a limit that a call of a kind has reached. */
export const reachedMark = ({ id }: BudgetRule, by: CallKind): string => `${id}@${by}`;

/** What was added to a rule's limit for the day, or for the month. */
export function extraOf({ day, earlier }: Sums): (rule: BudgetRule) => number {
  return ({ id, per }) => raisedBy(id, per === "month" ? plus(earlier.raises, day.raises) : day.raises);
}
