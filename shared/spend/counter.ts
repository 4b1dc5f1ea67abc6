import {
  absent,
  add,
  all,
  any,
  append,
  atMost,
  type Condition,
  equal,
  remove,
  type Step,
  set,
} from "../world/expression.ts";
import { ConditionFailed, type Item, type Table } from "../world/world.ts";
import { type Amounts, minus } from "./amounts.ts";
import { type DayView, dayKey, type Entry, entryOf, expiryOf, writeEntry } from "./day-view.ts";

/** Of a kind's latest runs this many are kept; up to twice as many are stored. */
const keptRuns = 50;

/** A row's numbers that are added to a day's report, by its key. */
export type Rows = ReadonlyMap<string, readonly number[]>;

/** A change of one session's contribution. */
export interface Contribution {
  /** The hash of the session's key. */
  name: string;
  entry: Entry;
  /** The reserved part of the entry's amounts. */
  held: Amounts;
  rows: Rows;
  /** A run that has ended. */
  ended?: { kind: string; micros: number };
  /** The most that sums may be before the change, by scope. Empty: the change is not limited. */
  most: Amounts;
}

/**
 * Replaces a session's contribution, as a compare-and-set against the view's: a repeated or late write changes nothing.
 * @returns the day's item; undefined when the day has changed since it was read, or a limit would be passed
 */
export async function contribute(
  table: Table,
  view: DayView,
  contribution: Contribution,
): Promise<Item | undefined> {
  const { name, entry, held, rows, ended, most } = contribution;
  const known = entryOf(view, name);
  const conditions: Condition[] = [
    known ? equal(`b:${name}`, writeEntry(known)) : absent(`b:${name}`),
    ...Object.entries(most).map(([scope, max]) => any(absent(`m:${scope}`), atMost(`m:${scope}`, max))),
  ];
  const steps: Step[] = [set(`b:${name}`, writeEntry(entry)), set("expiresAt", expiryOf(view.date))];
  if (Object.keys(held).length > 0) steps.push(set(`h:${name}`, writeEntry({ ...entry, amounts: held })));
  else if (view.holds.has(name)) steps.push(remove(`h:${name}`));
  for (const [scope, amount] of Object.entries(minus(entry.amounts, known?.amounts ?? {})))
    if (amount !== 0) steps.push(add(`m:${scope}`, amount));
  for (const [key, numbers] of rows) {
    if (view.rows.has(key)) {
      for (const [i, number] of numbers.entries()) if (number !== 0) steps.push(add([`r:${key}`, i], number));
    } else {
      steps.push(set(`r:${key}`, [...numbers]));
      conditions.push(absent(`r:${key}`));
    }
  }
  if (ended) steps.push(...runSteps(view, ended));
  try {
    return await table.update(dayKey(view.date), steps, all(...conditions));
  } catch (error) {
    if (error instanceof ConditionFailed) return undefined;
    throw error;
  }
}

/** Appends a run to the latest ones of its kind. Two at once may lose one when the list is shortened. */
function runSteps({ runs }: DayView, { kind, micros }: { kind: string; micros: number }): Step[] {
  const before = runs.get(kind) ?? [];
  if (before.length < 2 * keptRuns) return [append(`q:${kind}`, micros)];
  return [set(`q:${kind}`, [...before.slice(1 - keptRuns), micros])];
}
