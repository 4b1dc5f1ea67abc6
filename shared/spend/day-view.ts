import type { Item, Key, Table } from "../world/world.ts";
import { type Amounts, plus, readAmounts, writeAmounts } from "./amounts.ts";

/** The partition of the days' sums; the sort key has the day in the user's timezone. */
export const usagePartition = "USAGE";

/** How long a day's sums are kept, in seconds. */
const keptSeconds = 400 * 24 * 3600;

/** What one session has contributed to a day: the number of its calls, fenced by the epoch of its lease. */
export interface Entry {
  epoch: number;
  n: number;
  amounts: Amounts;
}

/** What was spent and reserved on a day. It repeats what the sessions know. */
export interface DayView {
  /** `YYYY-MM-DD`. */
  date: string;
  sums: Amounts;
  /** By the hash of a session's key, as stored: see `entryOf`. */
  entries: ReadonlyMap<string, string>;
  /** The reserved part of entries, by the same hash: `EPOCH N AMOUNTS`, for the entry of that epoch and n. */
  holds: ReadonlyMap<string, string>;
  /**
   * Reports, by `kind|agent|channel|job|provider/model`: calls, tokens (input, output, cacheRead, cacheWrite), μ$, calls with an
   * unknown price, μ$ that the provider's cache saved, interrupted calls. Rows of earlier versions lack the last column.
   */
  rows: ReadonlyMap<string, readonly number[]>;
  /** What was added to the limits of rules, by `RULE:ID`. */
  raises: Amounts;
  /** Warnings that were given, and limits that were reached: by `RULE@80` or `RULE@KIND`. */
  marks: Amounts;
  /** What the refused calls of a kind need at least, by `SCOPE@KIND`. */
  needs: Amounts;
  /** The μ$ of the day's latest runs, by kind. */
  runs: ReadonlyMap<string, readonly number[]>;
}

export const dayKey = (date: string): Key => ({ pk: usagePartition, sk: `D#${date}` });

/** When a day's item expires, in seconds of epoch time. */
export const expiryOf = (date: string): number => Date.parse(`${date}T00:00:00Z`) / 1000 + keptSeconds;

export const writeEntry = ({ epoch, n, amounts }: Entry): string => `${epoch} ${n} ${writeAmounts(amounts)}`;

/** What one session has contributed. @param name the hash of its key */
export function entryOf({ entries }: DayView, name: string): Entry | undefined {
  const text = entries.get(name);
  if (text === undefined) return undefined;
  return readEntry(text);
}

function readEntry(text: string): Entry {
  const [epoch, n, amounts = ""] = text.split(" ");
  return { epoch: Number(epoch), n: Number(n), amounts: readAmounts(amounts) };
}

/** What is reserved for calls in progress. An earlier version changes an entry and leaves its reserved part. */
export function heldOn(days: readonly DayView[]): Amounts {
  const holds = days.flatMap((day) =>
    [...day.holds].flatMap(([name, text]) => {
      const [hold, entry] = [readEntry(text), entryOf(day, name)];
      return hold.epoch === entry?.epoch && hold.n === entry.n ? [hold.amounts] : [];
    }),
  );
  return holds.reduce<Amounts>(plus, {});
}

/** Reads a day's item; an absent one is an empty day. It has an attribute for each session, so this is one pass. */
export function toView(date: string, item: Item = {}): DayView {
  const sums: Record<string, number> = {};
  const raises: Record<string, number> = {};
  const marks: Record<string, number> = {};
  const needs: Record<string, number> = {};
  const [entries, holds] = [new Map<string, string>(), new Map<string, string>()];
  const [rows, runs] = [new Map<string, number[]>(), new Map<string, number[]>()];
  for (const [attribute, value] of Object.entries(item)) {
    const name = attribute.slice(2);
    const list = () => (Array.isArray(value) ? value.map(Number) : []);
    switch (attribute.slice(0, 2)) {
      case "b:":
        entries.set(name, String(value));
        break;
      case "h:":
        holds.set(name, String(value));
        break;
      case "m:":
        sums[name] = Number(value);
        break;
      case "x:":
        raises[name] = Number(value);
        break;
      case "w:":
        marks[name] = Number(value);
        break;
      case "n:":
        needs[name] = Number(value);
        break;
      case "r:":
        rows.set(name, list());
        break;
      case "q:":
        runs.set(name, list());
    }
  }
  return { date, sums, entries, holds, rows, raises, marks, needs, runs };
}

/** The day's view, as stored now. */
export async function readDay(table: Pick<Table, "get">, date: string): Promise<DayView> {
  return toView(date, await table.get(dayKey(date)));
}

/** The views of a span of days that have an item, both inclusive, oldest first. */
export async function readDays(table: Pick<Table, "query">, from: string, to: string): Promise<DayView[]> {
  const items = await table.query({ pk: usagePartition, from: dayKey(from).sk, to: dayKey(to).sk });
  return items.map((item) => toView(String(item.sk).slice(2), item));
}

/** What was added to a rule's limit on these days. */
export function raisedBy(ruleId: string, raises: Amounts): number {
  const own = Object.entries(raises).filter(([name]) => name.startsWith(`${ruleId}:`));
  return own.reduce((sum, [, amount]) => sum + amount, 0);
}

/** The sums and raises of several days. */
export function totalOf(days: readonly DayView[]): { sums: Amounts; raises: Amounts } {
  return {
    sums: days.reduce<Amounts>((sums, day) => plus(sums, day.sums), {}),
    raises: days.reduce<Amounts>((raises, day) => plus(raises, day.raises), {}),
  };
}
