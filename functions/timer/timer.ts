import type { ConfigurationStore } from "../../shared/configuration/store.ts";
import type { DreamRun } from "../../shared/dreaming/dream-sweep.ts";
import { listAnonymous } from "../../shared/peers/anonymous-sockets.ts";
import { dropConnection } from "../../shared/peers/registry.ts";
import { log } from "../../shared/runtime/log.ts";
import { expireCalls } from "../../shared/session/calls.ts";
import { submitEntry } from "../../shared/session/intake.ts";
import { isResetDue, planReset, resetRules } from "../../shared/session/reset-schedule.ts";
import { readSession } from "../../shared/session/sessions.ts";
import { needsAgent } from "../../shared/session/state.ts";
import type { CachedReader } from "../../shared/workspace/cached-reader.ts";
import type { Schedules, Sockets, Table, TimerEvent, WakeAgent } from "../../shared/world/world.ts";
import { endExpired } from "./expired-calls.ts";

/** The dependencies of the timer function, built once at cold start. */
export interface Timer {
  table: Table;
  sockets: Sockets;
  schedules: Schedules;
  configuration: Pick<ConfigurationStore, "load">;
  wake: WakeAgent;
  /** Sweeps the memories of an agent, see `sweepMemories`. */
  sweepMemories: (run: DreamRun) => Promise<unknown>;
  /** Reads objects of the bucket as text. */
  files: Pick<CachedReader, "read">;
  now: () => number;
}

/** Number of sockets that are closed at the same time. */
const closedAtOnce = 20;

/**
 * Handles the deadline of a step's tool calls: pending calls are marked as timed out, their nodes are told to end them,
 * and the agent is woken.
 */
export async function expireTools(
  timer: Timer,
  { sessionKey, runId, step, deadline }: Extract<TimerEvent, { kind: "tool-timeout" }>,
): Promise<void> {
  const { table, wake, now } = timer;
  const expired = await expireCalls(table, sessionKey, { runId, step, deadline }, now());
  log("tool.timeout", { sessionKey, runId, step, due: expired !== undefined });
  if (!expired) return;
  const wakes = needsAgent(expired.state, now()) ? wake(sessionKey) : undefined;
  await Promise.all([wakes, endExpired(timer, expired)]);
}

/**
 * Handles the time at which a session may be due for a reset. When it is due, a reset entry is appended to
 * its inbox; the agent checks again before it resets, because a message may have come first. When it is not
 * due, the next check is scheduled. A schedule that was replaced by another is ignored.
 */
export async function resetIfDue(
  timer: Timer,
  { sessionKey, at }: Extract<TimerEvent, { kind: "reset-due" }>,
): Promise<void> {
  const state = await readSession(timer.table, sessionKey);
  if (state?.resetScheduledFor !== at) return;
  // Use the schedule's time when this clock is behind it.
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
 * Closes the sockets of a slot that were opened without a token and have not connected. `$disconnect` removes
 * what is stored of them. A failure for one socket does not stop the others.
 * @throws the last failure, after all sockets were tried
 */
export async function closeUnauthenticated({ table, sockets }: Timer, slot: number): Promise<void> {
  const left = await listAnonymous(table, slot);
  let failure: unknown;
  for (let start = 0; start < left.length; start += closedAtOnce) {
    const closing = left
      .slice(start, start + closedAtOnce)
      .map((connectionId) => sockets.close(connectionId));
    for (const closed of await Promise.allSettled(closing))
      if (closed.status === "rejected") failure = closed.reason;
  }
  log("sockets.unauthenticated", { slot, sockets: left.length });
  if (failure) throw failure;
}

/** Closes a socket that the socket function has closed before, in case that was lost. */
export async function closeAgain({ table, sockets }: Timer, connectionId: string): Promise<void> {
  await sockets.close(connectionId);
  await dropConnection(table, connectionId);
}
