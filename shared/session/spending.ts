import type { ConfigurationStore } from "../configuration/store.ts";
import type { Usage } from "../protocol/messages.ts";
import type { CostResult, Spending } from "../protocol/session-results.ts";
import { localTime, timeOfDay } from "../runtime/zoned-time.ts";
import type { Step } from "../world/expression.ts";
import type { Table } from "../world/world.ts";
import { listSessions, readSession } from "./sessions.ts";
import { assign, type SessionState, type StoredSpending } from "./state.ts";

/** The spending before the first call. */
export const nothingSpent: Spending = {
  ...{ calls: 0, input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  ...{ dollars: 0, unpriced: 0 },
};

/** What one model call took. Without a report of its provider it is a call of unknown price. */
export function spendingOf(usage: Usage | undefined): Spending {
  const { input = 0, output = 0, cacheRead = 0, cacheWrite = 0, cost } = usage ?? {};
  const unpriced = cost === undefined ? 1 : 0;
  return { calls: 1, input, output, cacheRead, cacheWrite, dollars: cost ?? 0, unpriced };
}

export function addSpending(one: Spending, other: Spending): Spending {
  return {
    calls: one.calls + other.calls,
    input: one.input + other.input,
    output: one.output + other.output,
    cacheRead: one.cacheRead + other.cacheRead,
    cacheWrite: one.cacheWrite + other.cacheWrite,
    dollars: one.dollars + other.dollars,
    unpriced: one.unpriced + other.unpriced,
  };
}

/** When model calls were made, and for which run; without one they belong to no turn. */
interface Occasion {
  runId?: string;
  /** Epoch ms. */
  now: number;
  timezone: string;
}

/** The order in which the numbers of a period are written. Behind them comes the run of the turn, or the date of the day. */
const written = ["calls", "input", "output", "cacheRead", "cacheWrite", "dollars", "unpriced"] as const;

function write(spending: Spending, label = ""): string {
  return [...written.map((name) => Number(spending[name].toFixed(9))), label].join(" ").trimEnd();
}

function read(text: string | undefined): { spending: Spending; label: string } {
  const parts = text?.split(" ") ?? [];
  const spending = Object.fromEntries(written.map((name, i) => [name, Number(parts[i] ?? 0)]));
  return { spending: { ...nothingSpent, ...spending }, label: parts.slice(written.length).join(" ") };
}

/** The step that adds what model calls took to a session. It belongs to the commit that their outcome needs anyway. */
export function spendingStep({ spent }: Spent, added: Spending, { runId, now, timezone }: Occasion): Step {
  const { date } = localTime(now, timezone);
  const stored: StoredSpending = {
    ...(spent?.turn === undefined ? {} : { turn: spent.turn }),
    session: write(addSpending(read(spent?.session).spending, added)),
    day: write(addSpending(spentOn({ spent }, date), added), date),
  };
  if (runId === undefined) return assign("spent", stored);
  const before = turnSpent({ spent });
  const turn = addSpending(before?.runId === runId ? before : nothingSpent, added);
  return assign("spent", { ...stored, turn: write(turn, runId) });
}

/** What a session's item holds behind a reset: the day goes on. */
export function spentAfterReset({ day }: StoredSpending): StoredSpending {
  return { session: write(nothingSpent), day };
}

type Spent = Pick<SessionState, "spent">;

/** What a session has spent since its last reset. */
export function sessionSpent({ spent }: Spent): Spending {
  return read(spent?.session).spending;
}

/** What the last turn that the model has answered took; undefined before the first. */
export function turnSpent({ spent }: Spent): (Spending & { runId: string }) | undefined {
  if (spent?.turn === undefined) return undefined;
  const { spending, label } = read(spent.turn);
  return { ...spending, runId: label };
}

/** What a session has spent on a day. @param date `YYYY-MM-DD` in the user's timezone */
export function spentOn({ spent }: Spent, date: string): Spending {
  const { spending, label } = read(spent?.day);
  return label === date ? spending : nothingSpent;
}

/** Sessions that are listed or read at a time. */
const atOnce = 50;

/** A turn that began on the day before may have ended on this one: a run takes no longer than this, ms. */
const longestTurnMs = 24 * 3600_000;

/** What a session's model calls took. `withAll`: the sum of all sessions, too, which reads those that were active today. */
export async function costOf(
  { table, configuration, now }: CostContext,
  sessionKey: string,
  withAll: boolean,
): Promise<CostResult> {
  const { userTimezone } = await configuration.load();
  const { date } = localTime(now(), userTimezone);
  const since = timeOfDay(date, "00:00", userTimezone) - longestTurnMs;
  const [state, all] = await Promise.all([
    readSession(table, sessionKey),
    withAll ? spentByAll(table, date, since) : undefined,
  ]);
  const turn = state && turnSpent(state);
  return {
    sessionKey,
    ...(turn ? { turn } : {}),
    session: state ? sessionSpent(state) : nothingSpent,
    today: { date, session: state ? spentOn(state, date) : nothingSpent, ...(all ? { all } : {}) },
  };
}

/** What `costOf` needs. */
export interface CostContext {
  table: Table;
  configuration: Pick<ConfigurationStore, "load">;
  now: () => number;
}

/** What all sessions have spent on a day. @param since epoch ms; sessions without activity since then are left out */
async function spentByAll(table: Table, date: string, since: number): Promise<Spending> {
  let all = nothingSpent;
  for (let offset = 0; ; offset += atOnce) {
    const listed = await listSessions(table, offset, atOnce);
    const active = listed.filter(({ lastActiveAt }) => lastActiveAt >= since);
    const states = await Promise.all(active.map(({ sessionKey }) => readSession(table, sessionKey)));
    for (const state of states) if (state) all = addSpending(all, spentOn(state, date));
    if (active.length < atOnce) return all;
  }
}
