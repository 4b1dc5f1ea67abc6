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
import { waitingRequests } from "../../shared/session/waiting.ts";
import type { CachedReader } from "../../shared/workspace/cached-reader.ts";
import type {
  AgentSlots,
  Schedules,
  Sockets,
  Table,
  TimerEvent,
  WakeAgent,
} from "../../shared/world/world.ts";
import { endExpired } from "./expired-calls.ts";

/** The dependencies of the timer function, built once at cold start. */
export interface Timer {
  table: Table;
  sockets: Sockets;
  schedules: Schedules;
  configuration: Pick<ConfigurationStore, "load">;
  wake: WakeAgent;
  slots?: AgentSlots;
  /** Sweeps the memories of an agent, see `sweepMemories`. */
  sweepMemories: (run: DreamRun) => Promise<unknown>;
  /** Reads objects of the bucket as text. */
  files: Pick<CachedReader, "read">;
  now: () => number;
}

/** Max sockets that are closed in parallel. */
const maxParallel = 20;

/**
 * Handles the deadline of a step's tool calls: marks pending calls as timed out, cancels them on their nodes, and wakes the
 * agent.
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
  await Promise.all([wakes, endExpired(timer, sessionKey, expired)]);
}

/** Handles the time at which requests for approval are shown again: the agent does, unless they were answered. */
export async function remindOfRequests(
  { table, wake }: Pick<Timer, "table" | "wake">,
  { sessionKey, runId, step }: Extract<TimerEvent, { kind: "approval-reminder" }>,
): Promise<void> {
  const run = (await readSession(table, sessionKey))?.run;
  const isWaiting = run?.runId === runId && run.step === step && waitingRequests(run).length > 0;
  log("approval.reminder", { sessionKey, runId, isWaiting });
  if (isWaiting) await wake(sessionKey);
}

/** Handles the time at which servers are asked about a run's tasks: the agent does, unless the tasks have ended. */
export async function pollTasks(
  { table, wake, now }: Pick<Timer, "table" | "wake" | "now">,
  { sessionKey, runId, step, at }: Extract<TimerEvent, { kind: "task-poll" }>,
): Promise<void> {
  const state = await readSession(table, sessionKey);
  const isWaiting = state?.run?.runId === runId && state.run.step === step;
  // Use the schedule's time if this clock is slow.
  const isDue = isWaiting && needsAgent(state, Math.max(now(), at));
  log("task.poll", { sessionKey, runId, isDue });
  if (isDue) await wake(sessionKey);
}

/**
 * Handles the time at which a session may be due for a reset. If it is due, a reset entry is appended to its inbox; the agent
 * checks again before it resets, because a message may have arrived first. Otherwise the next check is scheduled. A replaced
 * schedule is ignored.
 */
export async function resetIfDue(
  timer: Timer,
  { sessionKey, at }: Extract<TimerEvent, { kind: "reset-due" }>,
): Promise<void> {
  const state = await readSession(timer.table, sessionKey);
  if (state?.resetScheduledFor !== at) return;
  // Use the schedule's time if this clock is slow.
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
 * Closes the sockets of a slot that were opened without a token and have not connected. `$disconnect` removes their records.
 * The failure of one socket does not stop the others.
 * @throws the last failure, after all sockets were tried
 */
export async function closeUnauthenticated({ table, sockets }: Timer, slot: number): Promise<void> {
  const left = await listAnonymous(table, slot);
  let failure: unknown;
  for (let start = 0; start < left.length; start += maxParallel) {
    const closing = left.slice(start, start + maxParallel).map((connectionId) => sockets.close(connectionId));
    for (const closed of await Promise.allSettled(closing))
      if (closed.status === "rejected") failure = closed.reason;
  }
  log("sockets.unauthenticated", { slot, sockets: left.length });
  if (failure) throw failure;
}

/** Closes a socket that the socket function has closed before, in case that close was lost. */
export async function closeAgain({ table, sockets }: Timer, connectionId: string): Promise<void> {
  await sockets.close(connectionId);
  await dropConnection(table, connectionId);
}
