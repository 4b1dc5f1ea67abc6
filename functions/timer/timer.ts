import type { ConfigurationStore } from "../../shared/configuration/store.ts";
import { dropConnection, readConnection } from "../../shared/peers/registry.ts";
import { log, logError } from "../../shared/runtime/log.ts";
import { expireCalls } from "../../shared/session/calls.ts";
import { submitEntry } from "../../shared/session/intake.ts";
import { unlistIdle } from "../../shared/session/lease.ts";
import { isResetDue } from "../../shared/session/reset-policy.ts";
import { planReset, resetRules } from "../../shared/session/reset-schedule.ts";
import { readSession } from "../../shared/session/sessions.ts";
import { duePartition, needsAgent } from "../../shared/session/state.ts";
import type { Schedules, Sockets, Table, TimerEvent, WakeAgent } from "../../shared/world/world.ts";

/** What the timer function works with, built once at cold start. */
export interface Timer {
  table: Table;
  sockets: Sockets;
  schedules: Schedules;
  configuration: Pick<ConfigurationStore, "load">;
  wake: WakeAgent;
  now: () => number;
}

/** Sessions that one sweep looks at; the next sweep goes on with the rest. */
const sweepLimit = 200;

/** The deadline of a step's tools: what is still pending counts as timed out, and the agent goes on. */
export async function expireTools(
  { table, wake, now }: Timer,
  { sessionKey, runId, step, deadline }: Extract<TimerEvent, { kind: "tool-timeout" }>,
): Promise<void> {
  const state = await expireCalls(table, sessionKey, { runId, step, deadline }, now());
  log("tool.timeout", { sessionKey, runId, step, due: state !== undefined });
  if (state && needsAgent(state, now())) await wake(sessionKey);
}

/**
 * The time at which a session may be due for a reset by its policy. If it is, the agent is asked to do it,
 * and looks once more when its turn has come: a message that came first resets the session itself, or shows
 * that it is in use. If it is not, the next time is looked ahead to. A schedule that another one has replaced
 * does nothing.
 */
export async function resetIfDue(
  timer: Timer,
  { sessionKey, at }: Extract<TimerEvent, { kind: "reset-due" }>,
): Promise<void> {
  const state = await readSession(timer.table, sessionKey);
  if (state?.resetScheduledFor !== at) return;
  // The time that the schedule stands for counts, should this clock be behind it.
  const now = Math.max(timer.now(), at);
  const { policy, timezone } = await resetRules(timer.configuration, state);
  const isBusy = state.run !== undefined || state.inbox.length > 0;
  const due = !isBusy && isResetDue(state, policy, now, timezone);
  log("reset.due", { sessionKey, due });
  if (!due) return planReset(timer, state, now, at);
  const id = `reset-${state.sessionId}-${at}`;
  await submitEntry(timer, sessionKey, {
    id,
    at: now,
    origin: { kind: "client" },
    kind: "reset",
    via: "policy",
  });
}

/**
 * Half a minute after a socket was opened without a token: it is closed unless it has connected meanwhile.
 */
export async function closeUnauthenticated(
  { table, sockets, now }: Timer,
  connectionId: string,
): Promise<void> {
  const connection = await readConnection(table, connectionId, now());
  if (!connection || connection.mode) return;
  log("socket.unauthenticated", { connectionId });
  await sockets.close(connectionId);
  await dropConnection(table, connectionId);
}

/**
 * Wakes the agent for sessions that were left with something to do, which only a crash can leave behind:
 * overdue by the index, and, as the session itself says, with nobody at work on it. One that cannot be looked
 * after does not keep the others waiting.
 * @throws the last failure, when all have been looked at
 */
export async function sweep(timer: Timer): Promise<void> {
  const { table, now } = timer;
  const overdue = await table.queryIndex({ index: "due", pk: duePartition, upTo: now(), limit: sweepLimit });
  let woken = 0;
  let failure: unknown;
  for (const { pk } of overdue) {
    const sessionKey = String(pk).slice("S#".length);
    try {
      if (await lookAfter(timer, sessionKey)) woken += 1;
    } catch (error) {
      logError("sweep.failed", error, { sessionKey });
      failure = error;
    }
  }
  log("sweep.done", { overdue: overdue.length, woken });
  if (failure) throw failure;
}

/**
 * A run whose tools are overdue, because its schedule was lost, is treated as timed out; a session with
 * nothing to do is not listed any more.
 * @returns true when the agent was woken
 */
async function lookAfter({ table, wake, now }: Timer, sessionKey: string): Promise<boolean> {
  let state = await readSession(table, sessionKey);
  const run = state?.run;
  if (run?.phase === "tools" && run.pendingCount > 0 && (run.deadline ?? 0) <= now()) {
    state = await expireCalls(table, sessionKey, run, now());
  }
  if (!state || !needsAgent(state, now())) {
    if (state && !state.run && state.inbox.length === 0) await unlistIdle(table, sessionKey, now());
    return false;
  }
  log("sweep.wake", { sessionKey });
  await wake(sessionKey);
  return true;
}
