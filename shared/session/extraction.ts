import type { ExtractionState, LastExtraction } from "../protocol/memory-schemas.ts";
import { above, absent, add, all, any, below, equal, remove, type Step, set } from "../world/expression.ts";
import { ConditionFailed, type Key, succeeds, type Table } from "../world/world.ts";
import { dueFields, dueSteps, notDueSteps } from "./due.ts";
import { agentIdOf } from "./key/session-key.ts";
import { scheduleGraceMs, type ToExtract } from "./state.ts";

/**
 * The extraction of memories from the archive of a reset: an item with its own lease and epoch, so that the
 * session is free meanwhile (docs/decisions/resets.md). Times are epoch ms.
 */
export interface Extraction extends ToExtract {
  sessionKey: string;
  state: ExtractionState;
  /** How often it was started, and how many of these ended with the death of their process. */
  tries: number;
  deaths: number;
  /** The fencing token of whoever works on it. */
  epoch: number;
  leaseUntil?: number;
  /** The next attempt begins at this time or later. */
  nextAt: number;
  /** What the model found, stored before it is used: a repeat records the same lines. */
  memories?: string;
  /** Number of recorded memories, once it is done. */
  count?: number;
  /** Why the last attempt failed. */
  reason?: string;
}

/** Length of a lease on an extraction. Its holder renews it every few seconds. Milliseconds. */
const leaseMs = 30_000;

/** How long the result of an extraction is kept. Seconds. */
const resultSeconds = 7 * 24 * 3600;

const partition = (agentId: string) => `EXTRACT#${agentId}`;

function keyOf({ sessionKey, queuedAt }: Pick<Extraction, "sessionKey" | "queuedAt">): Key {
  return { pk: partition(agentIdOf(sessionKey)), sk: `${sessionKey}#${queuedAt}` };
}

/** The session of a key in the `due` index; undefined when the key is not an extraction's. */
export function extractedSession({ pk, sk }: Key): string | undefined {
  return pk.startsWith(partition("")) ? sk.slice(0, sk.lastIndexOf("#")) : undefined;
}

/** Queues an extraction. A repeat changes nothing. */
export async function queueExtraction(
  table: Table,
  from: Pick<Extraction, "sessionKey"> & ToExtract,
  now: number,
): Promise<void> {
  const queued = { ...from, state: "pending", tries: 0, deaths: 0, epoch: 0, nextAt: 0 } satisfies Extraction;
  // The invocation that queues it also begins it; the sweep only finds what that one left.
  const key = keyOf(from);
  const due = dueFields(key, now + scheduleGraceMs);
  await succeeds(table.put({ ...key, ...queued, ...due }, absent("pk")));
}

/** The extractions of a session that can be started now, oldest first. */
export async function startableExtractions(
  table: Table,
  sessionKey: string,
  now: number,
): Promise<Extraction[]> {
  const pk = partition(agentIdOf(sessionKey));
  const items = await table.query({ pk, prefix: `${sessionKey}#` });
  return (items as unknown as Extraction[]).filter(
    ({ state, nextAt, leaseUntil }) => state === "pending" && nextAt <= now && (leaseUntil ?? 0) < now,
  );
}

/** Acquires an extraction; undefined when another process has it, or it has ended. */
export async function claimExtraction(
  table: Table,
  found: Extraction,
  now: number,
): Promise<Extraction | undefined> {
  const wasLeft = found.leaseUntil !== undefined;
  const steps = [
    add("epoch", 1),
    add("tries", 1),
    ...(wasLeft ? [add("deaths", 1)] : []),
    ...leaseSteps(found, now),
  ];
  const free = any(absent("leaseUntil"), below("leaseUntil", now));
  return updated(table, found, steps, all(free, equal("epoch", found.epoch), equal("state", "pending")));
}

/** Extends the lease. @returns undefined when the extraction was stopped or taken over */
export function renewExtraction(
  table: Table,
  held: Extraction,
  now: number,
): Promise<Extraction | undefined> {
  return writeHeld(table, held, leaseSteps(held, now));
}

/** Stores what the model found. @returns undefined when the extraction was stopped or taken over */
export function storeMemories(
  table: Table,
  held: Extraction,
  memories: string,
): Promise<Extraction | undefined> {
  return writeHeld(table, held, [set("memories", memories)]);
}

/** Ends an attempt that failed; another one begins at `nextAt`. */
export function retryExtraction(
  table: Table,
  held: Extraction,
  reason: string,
  nextAt: number,
): Promise<Extraction | undefined> {
  const due = dueSteps(keyOf(held), nextAt);
  return writeHeld(table, held, [set("reason", reason), set("nextAt", nextAt), ...due, remove("leaseUntil")]);
}

/** Ends an extraction. Its result is kept for a week. */
export function endExtraction(
  table: Table,
  held: Extraction,
  end: { state: "done"; count: number } | { state: "failed"; reason: string },
  now: number,
): Promise<Extraction | undefined> {
  const result = Object.entries(end).map(([name, value]) => set(name, value));
  const rest = end.state === "done" ? [remove("reason")] : [];
  return writeHeld(table, held, [...result, ...rest, ...endSteps(now)]);
}

/**
 * Stops the extractions of a session that a process works on now, unless their memories are already stored.
 * @returns whether one was stopped
 */
export async function stopExtractions(table: Table, sessionKey: string, now: number): Promise<boolean> {
  const running = await runningExtractions(table, sessionKey, now);
  const steps = [set("state", "stopped"), ...endSteps(now)];
  const open = all(equal("state", "pending"), above("leaseUntil", now - 1), absent("memories"));
  const stopped = await Promise.all(running.map((one) => updated(table, one, steps, open)));
  return stopped.some((one) => one !== undefined);
}

async function runningExtractions(table: Table, sessionKey: string, now: number): Promise<Extraction[]> {
  const pk = partition(agentIdOf(sessionKey));
  const found = (await table.query({ pk, prefix: `${sessionKey}#` })) as unknown as Extraction[];
  return found.filter(({ state, leaseUntil = 0 }) => state === "pending" && leaseUntil >= now);
}

/** Whether a process works on an extraction of the session. */
export async function isExtracting(table: Table, sessionKey: string, now: number): Promise<boolean> {
  return (await runningExtractions(table, sessionKey, now)).length > 0;
}

/**
 * Deletes a session's extractions, with what the model has found in them. One in progress ends without writing.
 * @param sessionId only those of this conversation
 */
export async function deleteExtractions(table: Table, sessionKey: string, sessionId?: string): Promise<void> {
  const pk = partition(agentIdOf(sessionKey));
  const found = (await table.query({ pk, prefix: `${sessionKey}#` })) as unknown as Extraction[];
  const chosen = found.filter((one) => sessionId === undefined || one.sessionId === sessionId);
  await Promise.all(chosen.map((one) => table.delete(keyOf(one))));
}

/** The newest extraction of an agent. */
export async function lastExtraction(table: Table, agentId: string): Promise<LastExtraction | undefined> {
  const items = (await table.query({ pk: partition(agentId) })) as unknown as Extraction[];
  const last = items.reduce<Extraction | undefined>(
    (newest, one) => (newest && newest.queuedAt >= one.queuedAt ? newest : one),
    undefined,
  );
  return last && toLast(last);
}

/** An extraction as clients see it. */
export function toLast({ state, sessionKey, queuedAt, count, reason, nextAt }: Extraction): LastExtraction {
  return {
    ...{ state, sessionKey, at: queuedAt },
    ...(count === undefined ? {} : { count }),
    ...(reason === undefined ? {} : { reason }),
    ...(state === "pending" && nextAt > 0 ? { nextAt } : {}),
  };
}

/** While it is held, the sweep finds it only after its lease has expired. */
function leaseSteps(of: Extraction, now: number): Step[] {
  return [set("leaseUntil", now + leaseMs), ...dueSteps(keyOf(of), now + leaseMs + 1)];
}

function endSteps(now: number): Step[] {
  return [
    ...notDueSteps,
    remove("leaseUntil"),
    remove("memories"),
    set("expiresAt", Math.floor(now / 1000) + resultSeconds),
  ];
}

function writeHeld(table: Table, held: Extraction, steps: readonly Step[]): Promise<Extraction | undefined> {
  return updated(table, held, steps, all(equal("epoch", held.epoch), equal("state", "pending")));
}

async function updated(
  table: Table,
  of: Extraction,
  steps: readonly Step[],
  condition: Parameters<Table["update"]>[2],
): Promise<Extraction | undefined> {
  try {
    return (await table.update(keyOf(of), steps, condition)) as unknown as Extraction;
  } catch (error) {
    if (error instanceof ConditionFailed) return undefined;
    throw error;
  }
}
