import type { UsageFigures, UsageGroup, UsageGroupEntry, UsageResult } from "../protocol/usage.ts";
import { addDays } from "../runtime/zoned-time.ts";
import type { Table } from "../world/world.ts";
import { type DayView, entryOf, readDays } from "./day-view.ts";
import { entryName } from "./entry-name.ts";

/** The oldest day of a report, before today: days are kept for a little longer. */
const maxDays = 398;

const dollars = (micros: number) => micros / 1_000_000;

/** The parts of a report's key: `kind|agent|channel|job|provider/model`. */
const parts = ["kind", "agent", "channel", "job"] as const;

function partOf(key: string, group: Exclude<UsageGroup, "day" | "session">): string {
  const found = key.split("|");
  return (group === "model" ? found.slice(parts.length).join("|") : found[parts.indexOf(group)]) ?? "";
}

/** Reads the spending since a day, up to the end of `to`. @param date today in the user's timezone; `sessionKeys` are read to group by session */
export async function readUsage(
  table: Pick<Table, "query">,
  date: string,
  { by, since: asked, to = date }: { by?: UsageGroup; since?: string; to?: string } = {},
  sessionKeys: () => Promise<readonly string[]> = async () => [],
): Promise<UsageResult> {
  const month = `${date.slice(0, 8)}01`;
  const oldest = addDays(date, -maxDays);
  const since = asked === undefined || asked > date ? month : asked < oldest ? oldest : asked;
  const days = await readDays(table, since < month ? since : month, date);
  const from = (first: string) => days.filter((day) => day.date >= first);
  const chosen = from(since).filter((day) => day.date <= to);
  const result: UsageResult = {
    today: { date, ...figuresOf(from(date)) },
    month: { since: month, ...figuresOf(from(month)) },
    total: { since, ...figuresOf(chosen) },
  };
  if (by === undefined) return result;
  const groups = by === "session" ? bySession(chosen, await sessionKeys()) : byPart(chosen, by);
  const grouped = groups.reduce((sum, group) => sum + group.dollars, 0);
  const restDollars = Number((result.total.dollars - grouped).toFixed(6));
  return { ...result, groups, ...(restDollars > 0 ? { restDollars } : {}) };
}

/** All spending of some days. Its dollars are the sum that limits apply to. */
export function figuresOf(days: readonly DayView[]): UsageFigures {
  const rows = days.flatMap((day) => [...day.rows.values()]);
  const micros = days.reduce((sum, { sums }) => sum + (sums.all ?? 0), 0);
  return { ...figuresOfRows(rows), dollars: dollars(micros) };
}

/** The rows' columns: calls, tokens, μ$, calls with an estimated price, μ$ saved, interrupted calls. */
function figuresOfRows(rows: readonly (readonly number[])[]): UsageFigures {
  const sum = (column: number) => rows.reduce((total, row) => total + (row[column] ?? 0), 0);
  return {
    calls: sum(0),
    input: sum(1),
    output: sum(2),
    cacheRead: sum(3),
    cacheWrite: sum(4),
    dollars: dollars(sum(5)),
    estimated: sum(6),
    savedDollars: dollars(sum(7)),
    interrupted: sum(8),
  };
}

function byPart(days: readonly DayView[], by: Exclude<UsageGroup, "session">): UsageGroupEntry[] {
  if (by === "day") return days.map((day) => ({ name: day.date, ...figuresOf([day]) }));
  const rows = groupBy(
    days.flatMap((day) => [...day.rows]),
    ([key]) => partOf(key, by),
  );
  return dearestFirst(
    [...rows].map(([name, found]) => ({ name, ...figuresOfRows(found.map(([, row]) => row)) })),
  );
}

/** The days know only hashes of the sessions' keys. */
function bySession(days: readonly DayView[], sessionKeys: readonly string[]): UsageGroupEntry[] {
  const names = new Map(
    sessionKeys.flatMap((key) => [true, false].map((hasLease) => [entryName(key, hasLease), key] as const)),
  );
  const entries = groupBy(
    days.flatMap((day) =>
      [...day.entries.keys()].map((name) => ({ name, amounts: entryOf(day, name)?.amounts })),
    ),
    ({ name }) => names.get(name) ?? "",
  );
  return dearestFirst(
    [...entries].map(([name, found]) => ({
      name,
      dollars: dollars(found.reduce((sum, { amounts }) => sum + (amounts?.all ?? 0), 0)),
    })),
  );
}

function dearestFirst(groups: UsageGroupEntry[]): UsageGroupEntry[] {
  return groups.filter(({ calls, dollars }) => dollars > 0 || calls).sort((a, b) => b.dollars - a.dollars);
}

function groupBy<T>(items: readonly T[], nameOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) groups.set(nameOf(item), [...(groups.get(nameOf(item)) ?? []), item]);
  return groups;
}
