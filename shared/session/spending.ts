import type { ConfigurationStore } from "../configuration/store.ts";
import type { Usage } from "../protocol/messages.ts";
import type { CostResult, Spending } from "../protocol/session-results.ts";
import { noUsage, piUsage } from "../protocol/stored-message.ts";
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

/** The spending of one model call. */
export function spendingOf(usage: Usage = noUsage): Spending {
  const { input, output, cacheRead, cacheWrite, cost, unpriced } = piUsage(usage);
  return { calls: 1, input, output, cacheRead, cacheWrite, dollars: cost.total, unpriced: unpriced ? 1 : 0 };
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

/** When model calls were made, and for which run. Calls without a run belong to no turn. */
interface Occasion {
  runId?: string;
  /** Epoch ms. */
  now: number;
  timezone: string;
}

/** The order of a period's numbers in its text. The turn's run id or the day's date follows. */
const written = ["calls", "input", "output", "cacheRead", "cacheWrite", "dollars", "unpriced"] as const;

function write(spending: Spending, label = ""): string {
  return [...written.map((name) => Number(spending[name].toFixed(9))), label].join(" ").trimEnd();
}

function read(text: string | undefined): { spending: Spending; label: string } {
  const parts = text?.split(" ") ?? [];
  const spending = Object.fromEntries(written.map((name, i) => [name, Number(parts[i] ?? 0)]));
  return { spending: { ...nothingSpent, ...spending }, label: parts.slice(written.length).join(" ") };
}

/** The step that adds the spending of model calls to a session. It is part of the commit of their outcome. */
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

/** The spending in a session's item after a reset: the day's sum remains. */
export function spentAfterReset({ day }: StoredSpending): StoredSpending {
  return { session: write(nothingSpent), day };
}

type Spent = Pick<SessionState, "spent">;

/** What a session has spent since its last reset. */
function sessionSpent({ spent }: Spent): Spending {
  return read(spent?.session).spending;
}

/** The spending of the last turn that the model answered; undefined before the first. */
export function turnSpent({ spent }: Spent): (Spending & { runId: string }) | undefined {
  if (spent?.turn === undefined) return undefined;
  const { spending, label } = read(spent.turn);
  return { ...spending, runId: label };
}

/** What a session has spent on a day. @param date `YYYY-MM-DD` in the user's timezone */
function spentOn({ spent }: Spent, date: string): Spending {
  const { spending, label } = read(spent?.day);
  return label === date ? spending : nothingSpent;
}

/** Sessions listed or read per batch. */
const atOnce = 50;

/** Maximum duration of a run, ms: a turn that started the day before may have ended on this day. */
const longestTurnMs = 24 * 3600_000;

/** The spending of a session. `withAll`: also the sum of all sessions, which reads every session that was active today. */
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

/** The dependencies of `costOf`. */
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
