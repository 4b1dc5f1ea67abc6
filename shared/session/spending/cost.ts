import type { ConfigurationStore } from "../../configuration/store.ts";
import type { CostResult, Spending } from "../../protocol/session-results.ts";
import { localTime, timeOfDay } from "../../runtime/zoned-time.ts";
import type { Table } from "../../world/world.ts";
import { listSessions, readSession } from "../sessions.ts";
import { addSpending, nothingSpent, sessionSpent, spentOn, turnSpent } from "./spending.ts";

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
