import {
  above,
  absent,
  add,
  all,
  any,
  below,
  type Condition,
  equal,
  exists,
  remove,
  type Step,
  set,
} from "../world/expression.ts";
import { ConditionFailed, succeeds, type Table } from "../world/world.ts";
import { entryBytes } from "./inbox.ts";
import type { InboxEntry } from "./inbox-entry.ts";
import { duePartition, metaKey, type SessionState, toState } from "./state.ts";

/** Another agent has taken the session over: whatever the thrower was doing is not its business any more. */
export class LeaseLost extends Error {
  constructor(sessionKey: string) {
    super(`the lease of session ${sessionKey} was taken over`);
    this.name = "LeaseLost";
  }
}

/** The right to write one session, as of one epoch. */
export interface Lease {
  sessionKey: string;
  epoch: number;
}

/** Length of a lease in milliseconds. The holder renews it well before it ends. */
export const leaseMs = 30_000;

/** How long after a tool deadline the sweep looks: the Scheduler itself may be a minute late. */
const sweepGraceMs = 90_000;

/**
 * Takes the session when nobody holds it or the holder's lease has run out; undefined otherwise.
 * @param owner unique to this attempt, so that it is recognised when its own write is repeated
 */
export async function acquire(
  table: Table,
  sessionKey: string,
  owner: string,
  now: number,
): Promise<{ lease: Lease; state: SessionState } | undefined> {
  try {
    const item = await table.update(
      metaKey(sessionKey),
      [set("owner", owner), set("leaseUntil", now + leaseMs), add("epoch", 1)],
      all(exists("pk"), any(absent("leaseUntil"), below("leaseUntil", now))),
    );
    const state = toState(item);
    return { lease: { sessionKey, epoch: state.epoch }, state };
  } catch (error) {
    if (!(error instanceof ConditionFailed)) throw error;
  }
  // The SDK repeats a write whose answer was lost, and the repeat meets the lease that the first one took.
  const item = await table.get(metaKey(sessionKey));
  if (item?.owner !== owner) return undefined;
  const state = toState(item);
  return { lease: { sessionKey, epoch: state.epoch }, state };
}

/**
 * Extends the lease and returns the state as it is now, which shows a stop. Never revives a lease that was let go.
 * @throws LeaseLost
 */
export async function renew(table: Table, lease: Lease, now: number): Promise<SessionState> {
  const held = all(equal("epoch", lease.epoch), exists("owner"));
  return commitIf(table, lease, [set("leaseUntil", now + leaseMs)], held);
}

/**
 * Writes the session's state on behalf of the holder. The steps must be safe to repeat, because the SDK repeats a write
 * whose answer was lost. @throws LeaseLost
 */
export async function commit(table: Table, lease: Lease, steps: readonly Step[]): Promise<SessionState> {
  return commitIf(table, lease, steps, equal("epoch", lease.epoch));
}

async function commitIf(
  table: Table,
  lease: Lease,
  steps: readonly Step[],
  condition: Condition,
): Promise<SessionState> {
  try {
    return toState(await table.update(metaKey(lease.sessionKey), steps, condition));
  } catch (error) {
    if (error instanceof ConditionFailed) throw new LeaseLost(lease.sessionKey);
    throw error;
  }
}

/**
 * Commits `steps` and takes `entry`, the oldest, out of the inbox. The condition names the entry, so that a repeated
 * write cannot take out the next one. @throws LeaseLost
 */
export async function commitEntry(
  table: Table,
  lease: Lease,
  entry: InboxEntry,
  steps: readonly Step[],
): Promise<SessionState> {
  const key = metaKey(lease.sessionKey);
  const take = [remove(["inbox", 0]), add("inboxBytes", -entryBytes(entry))];
  try {
    const mine = all(equal("epoch", lease.epoch), equal(["inbox", 0, "id"], entry.id));
    return toState(await table.update(key, [...steps, ...take], mine));
  } catch (error) {
    if (!(error instanceof ConditionFailed)) throw error;
  }
  const item = await table.get(key);
  if (item?.epoch !== lease.epoch) throw new LeaseLost(lease.sessionKey);
  const state = toState(item);
  if (state.inbox.some((waiting) => waiting.id === entry.id)) throw new LeaseLost(lease.sessionKey);
  return state;
}

/**
 * Lets go of a session with nothing to do, writing `steps` with it. When an entry has come in meanwhile nothing is
 * written, and the holder goes on with the state that is returned. @throws LeaseLost
 */
export async function releaseIdle(
  table: Table,
  lease: Lease,
  steps: readonly Step[] = [],
): Promise<SessionState | undefined> {
  const free = [remove("owner"), remove("leaseUntil"), remove("duePk"), remove("dueAt")];
  return releaseIf(table, lease, [...steps, ...free], absent(["inbox", 0]));
}

/**
 * Lets go of a session whose run waits for tools until `deadline`. When the last result, the deadline or a stop has come
 * meanwhile nothing is written, and the holder goes on with the state that is returned. @throws LeaseLost
 */
export async function releaseWaiting(
  table: Table,
  lease: Lease,
  deadline: number,
): Promise<SessionState | undefined> {
  const free = [
    remove("owner"),
    remove("leaseUntil"),
    set("duePk", duePartition),
    set("dueAt", deadline + sweepGraceMs),
  ];
  return releaseIf(table, lease, free, all(above(["run", "pendingCount"], 0), absent("stop")));
}

/** Lets go of a session with work left, for another invocation to take at once. @throws LeaseLost */
export async function releaseUnfinished(table: Table, lease: Lease, now: number): Promise<void> {
  const free = [remove("owner"), remove("leaseUntil"), set("duePk", duePartition), set("dueAt", now)];
  await commit(table, lease, free);
}

/**
 * Takes a session off the list of those with something to do, if there is nothing and nobody is at work on it: an agent
 * that failed on its way out lets go without knowing. False when there is something.
 */
export async function unlistIdle(table: Table, sessionKey: string, now: number): Promise<boolean> {
  const idle = all(absent("run"), absent(["inbox", 0]), any(absent("leaseUntil"), below("leaseUntil", now)));
  return succeeds(
    table.update(metaKey(sessionKey), [remove("duePk"), remove("dueAt")], all(exists("pk"), idle)),
  );
}

async function releaseIf(
  table: Table,
  lease: Lease,
  steps: readonly Step[],
  condition: Condition,
): Promise<SessionState | undefined> {
  const key = metaKey(lease.sessionKey);
  try {
    await table.update(key, steps, all(equal("epoch", lease.epoch), condition));
    return undefined;
  } catch (error) {
    if (!(error instanceof ConditionFailed)) throw error;
  }
  const item = await table.get(key);
  if (item?.epoch !== lease.epoch) throw new LeaseLost(lease.sessionKey);
  // Without an owner it was let go by this very write, whose answer was lost: what came since has woken another agent.
  return item.owner === undefined ? undefined : toState(item);
}
