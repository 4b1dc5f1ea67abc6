import { cronPartition, jobIdOf } from "../../shared/cron/job-item.ts";
import { advanceJob } from "../../shared/cron/run-job.ts";
import { dreamingAgent } from "../../shared/dreaming/dream-state.ts";
import { beatPartition } from "../../shared/heartbeat/beat-state.ts";
import type { FailingItem } from "../../shared/protocol/cron.ts";
import { listFaults, recordFault } from "../../shared/runtime/faults.ts";
import { log, logError } from "../../shared/runtime/log.ts";
import { expireCalls } from "../../shared/session/calls.ts";
import { dueItems } from "../../shared/session/due.ts";
import { extractedSession } from "../../shared/session/extraction.ts";
import { readFailing, tryItem } from "../../shared/session/failing-items.ts";
import { unlistIdle } from "../../shared/session/lease.ts";
import { readSession } from "../../shared/session/sessions.ts";
import { needsAgent } from "../../shared/session/state.ts";
import type { Key } from "../../shared/world/world.ts";
import { dreamIfLost } from "./dream.ts";
import { endExpired } from "./expired-calls.ts";
import { beatIfLost } from "./heartbeat.ts";
import type { Timer } from "./timer.ts";

/** Max items that are checked in parallel. */
const atOnce = 16;

/** A sweep starts no check when less time than this remains, ms. */
const reservedMs = 10_000;

/**
 * Checks the overdue items of the `due` index: sessions with work that no agent is processing, which only a crash leaves
 * behind, and jobs whose schedule was lost. The index has only keys; each item is read and decides. The failure of one item
 * does not stop the sweep, and an item that keeps failing is checked less often.
 * @param remainingMs returns the time left of the invocation; the next sweep checks what this one has no time for
 * @param onLeft called before the sweep wakes a session that an agent left with work
 * @throws the last failure, after all items were checked
 */
export async function sweep(
  timer: Timer,
  remainingMs: () => number = () => Number.POSITIVE_INFINITY,
  onLeft: () => void = () => {},
): Promise<void> {
  const { table, now } = timer;
  const count = { overdue: 0, woken: 0 };
  let failing: ReadonlyMap<string, FailingItem> | undefined;
  let failure: unknown;
  let inTurn: ReadonlySet<string> = new Set();
  try {
    inTurn = (await timer.slots?.reclaim()) ?? inTurn;
  } catch (error) {
    logError("sweep.failed", error);
    failure = error;
  }
  const check = async (key: Key) => {
    try {
      const isWoken = await tryItem(table, key, failing, now(), () => checkItem(timer, key, inTurn, onLeft));
      if (isWoken) count.woken += 1;
    } catch (error) {
      logError("sweep.failed", error, { ...key });
      failure = error;
    }
  };
  const hasTime = () => remainingMs() > reservedMs;
  for await (const page of dueItems(table, now())) {
    if (!hasTime()) break;
    count.overdue += page.length;
    if (page.length > 0) failing ??= await readFailing(table, now());
    const queue = page.values();
    const worker = async () => {
      for (const key of queue) if (hasTime()) await check(key);
    };
    await Promise.all(Array.from({ length: atOnce }, worker));
  }
  log("sweep.done", count);
  if (failure) throw failure;
}

/** Checks one overdue item; its key tells its kind. @returns true when the agent was woken for an abandoned session */
async function checkItem(
  timer: Timer,
  { pk, sk }: Key,
  inTurn: ReadonlySet<string>,
  onLeft: () => void,
): Promise<boolean> {
  if (pk.startsWith("S#")) return checkSession(timer, pk.slice("S#".length), inTurn, onLeft);
  const jobId = pk === cronPartition ? jobIdOf(sk) : undefined;
  if (jobId !== undefined) {
    await advanceJob(timer, jobId, timer.now());
    return false;
  }
  if (pk === beatPartition) {
    await beatIfLost(timer, sk);
    return false;
  }
  const extracted = extractedSession({ pk, sk });
  if (extracted !== undefined) {
    await timer.wake(extracted);
    return false;
  }
  const agentId = dreamingAgent({ pk, sk });
  if (agentId !== undefined) {
    await dreamIfLost(timer, agentId);
    return false;
  }
  log("sweep.unknown", { pk, sk });
  return false;
}

/**
 * Checks one overdue session. Marks tool calls past their deadline as timed out, because their schedule was lost. Removes an
 * idle session from the `due` index.
 * @param inTurn the sessions that have a slot or wait for one: nobody left them
 * @returns true when the agent was woken
 */
async function checkSession(
  timer: Timer,
  sessionKey: string,
  inTurn: ReadonlySet<string>,
  onLeft: () => void,
): Promise<boolean> {
  const { table, wake, now } = timer;
  let state = await readSession(table, sessionKey);
  const run = state?.run;
  if (run?.phase === "tools" && run.pendingCount > 0 && (run.deadline ?? 0) <= now()) {
    const expired = await expireCalls(table, sessionKey, run, now());
    if (expired) await endExpired(timer, sessionKey, expired);
    state = expired?.state;
  }
  if (!state || !needsAgent(state, now())) {
    if (state && !state.run && state.inbox.length === 0) await unlistIdle(table, sessionKey, now());
    return false;
  }
  if (inTurn.has(sessionKey)) return false;
  log("sweep.wake", { sessionKey, runId: state.run?.runId });
  onLeft();
  await wake(sessionKey);
  return true;
}

/** Sweeps, and records a fault if it woke a session: only an agent that ended early leaves one with work. */
export async function sweepAndRecord(timer: Timer, remainingMs: () => number): Promise<void> {
  let wasLeft = false;
  try {
    await sweep(timer, remainingMs, () => {
      wasLeft = true;
    });
  } finally {
    if (wasLeft) await recordFault(timer.table, { name: "agent", kind: "left", at: timer.now() });
  }
}

const meanings = {
  errors: "logged errors",
  invocations: "was invoked more than ten times a second",
  left: "left a session with something to do",
};

/**
 * Fails on purpose if a function has recorded a fault in the last quarter of an hour. The only alarm watches the timer
 * function's failures, so this makes it report the faults of all functions.
 * @throws Error that lists the functions and their faults
 */
export async function watch({ table, now }: Pick<Timer, "table" | "now">): Promise<void> {
  const faults = await listFaults(table, now());
  if (faults.length === 0) return;
  const texts = faults.map(
    ({ name, kind, at }) => `the ${name} function ${meanings[kind]}, last at ${new Date(at).toISOString()}`,
  );
  throw new Error(`${texts.join("; ")}: see the function's log`);
}
