import {
  above,
  absent,
  add,
  all,
  any,
  atMost,
  below,
  type Condition,
  equal,
  exists,
  remove,
  type Step,
  set,
} from "../world/expression.ts";
import { ConditionFailed, succeeds, type Table } from "../world/world.ts";
import { dueSteps, notDueSteps } from "./due.ts";
import { entryBytes } from "./inbox.ts";
import type { InboxEntry } from "./inbox-entry.ts";
import type { Run } from "./run.ts";
import { metaKey, type SessionState, toState } from "./state.ts";

/** Another agent has taken over the session. The caller must stop working on it. */
export class LeaseLost extends Error {
  constructor(sessionKey: string) {
    super(`the lease of session ${sessionKey} was taken over`);
    this.name = "LeaseLost";
  }
}

/** The right to write one session. The epoch is its fencing token. */
export interface Lease {
  sessionKey: string;
  epoch: number;
}

/** Length of a lease in milliseconds. The holder renews it well before it ends. */
export const leaseMs = 30_000;

/**
 * The sweep handles a held session within this time after its lease has ended, ms. Times are rounded up to it, so that most
 * renewals change no index row.
 */
const leaseGraceMs = 30_000;

/** How long after a tool deadline the sweep handles the session, ms: the Scheduler may be a minute late. */
export const sweepGraceMs = 90_000;

/**
 * Acquires the lease of a session when it is free or expired; undefined otherwise.
 * @param owner unique id of this attempt, by which a repeated write recognizes its own lease
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
      [set("owner", owner), add("epoch", 1), set("commits", 0), ...leaseSteps(sessionKey, now)],
      all(exists("pk"), any(absent("leaseUntil"), below("leaseUntil", now))),
    );
    const state = toState(item);
    return { lease: { sessionKey, epoch: state.epoch }, state };
  } catch (error) {
    if (!(error instanceof ConditionFailed)) throw error;
  }
  // The SDK repeats a write whose response was lost. The condition then fails because of our own lease.
  const item = await table.get(metaKey(sessionKey));
  if (item?.owner !== owner) return undefined;
  const state = toState(item);
  return { lease: { sessionKey, epoch: state.epoch }, state };
}

function leaseSteps(sessionKey: string, now: number): Step[] {
  const leaseUntil = now + leaseMs;
  const dueAt = (Math.floor(leaseUntil / leaseGraceMs) + 1) * leaseGraceMs;
  return [set("leaseUntil", leaseUntil), ...dueSteps(metaKey(sessionKey), dueAt)];
}

/**
 * Extends the lease and returns the current state, which may contain a stop request. Never revives a released
 * lease.
 * @throws LeaseLost
 */
export async function renew(table: Table, lease: Lease, now: number): Promise<SessionState> {
  const held = all(equal("epoch", lease.epoch), exists("owner"));
  return commitIf(table, lease, leaseSteps(lease.sessionKey, now), held);
}

/**
 * Writes the session's state as the lease holder. A request that timed out here may still reach the table later: the
 * condition names the number of earlier commits and the current run, so that it then changes nothing.
 * @throws LeaseLost
 */
export async function commit(
  table: Table,
  lease: Lease,
  steps: readonly Step[],
  { run, commits = 0 }: Pick<SessionState, "run" | "commits"> = {},
): Promise<SessionState> {
  const condition = all(equal("commits", commits), ...(run ? [isRun(run.runId)] : []));
  return commitOnce(table, lease, steps, condition, (state) => state.commits === commits + 1);
}

const isRun = (runId: string) => equal(["run", "runId"], runId);

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
 * Commits `steps` and removes `entry`, the oldest, from the inbox, and others with it. The condition names the entries, so that
 * a repeated write cannot remove the next entry.
 * @param others later entries with their places
 * @throws LeaseLost
 */
export async function commitEntry(
  table: Table,
  lease: Lease,
  entry: InboxEntry,
  steps: readonly Step[],
  others: readonly { entry: InboxEntry; at: number }[] = [],
): Promise<SessionState> {
  const removed = [{ entry, at: 0 }, ...others];
  const bytes = removed.reduce((sum, one) => sum + entryBytes(one.entry), 0);
  const take = [...removed.map(({ at }) => remove(["inbox", at])), add("inboxBytes", -bytes)];
  const areSame = all(...removed.map((one) => equal(["inbox", one.at, "id"], one.entry.id)));
  return commitOnce(table, lease, [...steps, ...take], areSame, ({ inbox }) =>
    inbox.every((waiting) => waiting.id !== entry.id),
  );
}

/** The steps that end a run, together with a stop of it. */
const endOfRun = [remove("run"), remove("stop")];

/**
 * Commits `steps` and ends the run. The condition names the run, so that a repeated write cannot remove a stop
 * of the next one.
 * @throws LeaseLost
 */
export async function commitRunEnd(
  table: Table,
  lease: Lease,
  runId: string,
  steps: readonly Step[],
): Promise<SessionState> {
  return commitOnce(table, lease, [...steps, ...endOfRun], isRun(runId), ({ run }) => run?.runId !== runId);
}

/**
 * Performs a write that must not happen twice. When the condition fails, `isDone` decides from the session's state whether
 * an earlier attempt of this write succeeded.
 */
async function commitOnce(
  table: Table,
  lease: Lease,
  steps: readonly Step[],
  condition: Condition,
  isDone: (state: SessionState) => boolean,
): Promise<SessionState> {
  const key = metaKey(lease.sessionKey);
  try {
    const counted = [...steps, add("commits", 1)];
    return toState(await table.update(key, counted, all(equal("epoch", lease.epoch), condition)));
  } catch (error) {
    if (!(error instanceof ConditionFailed)) throw error;
  }
  const item = await table.get(key);
  if (item?.epoch !== lease.epoch) throw new LeaseLost(lease.sessionKey);
  const state = toState(item);
  if (!isDone(state)) throw new LeaseLost(lease.sessionKey);
  return state;
}

/**
 * Releases the lease of an idle session. When the inbox has a new entry, nothing is written and the new state
 * is returned: the holder keeps the lease and continues. A release that timed out here and reaches the table after a
 * later commit changes nothing.
 * @param commits number of commits of this lease
 * @param ended the run that ends by the same write, and the steps that are written with it
 * @throws LeaseLost
 */
export async function releaseIdle(
  table: Table,
  lease: Lease,
  commits: number,
  ended?: { runId: string; steps: readonly Step[] },
): Promise<SessionState | undefined> {
  const free = [remove("owner"), remove("leaseUntil"), ...notDueSteps];
  const isIdle = all(equal("commits", commits), absent(["inbox", 0]));
  if (!ended) return releaseIf(table, lease, free, isIdle);
  const steps = [...ended.steps, ...endOfRun, ...free];
  return releaseIf(table, lease, steps, all(isIdle, isRun(ended.runId)));
}

/**
 * Releases the lease of a session whose run waits until `deadline`, epoch ms, for the tools that its attempt has called. When
 * no call is pending any more, a stop was requested, or the owner has answered, nothing is written and the new state is returned:
 * the holder continues. A release that timed out here and reaches the table after a later commit changes nothing.
 * @param commits number of commits of this lease
 * @param entries while requests wait for an answer: the number of inbox entries, none of which sets them aside
 * @throws LeaseLost
 */
export async function releaseWaiting(
  table: Table,
  lease: Lease,
  commits: number,
  { runId, attempt, deadline }: Pick<Run, "runId" | "attempt"> & { deadline: number },
  entries?: number,
): Promise<SessionState | undefined> {
  const free = [
    set(["run", "sent"], attempt),
    remove("owner"),
    remove("leaseUntil"),
    ...dueSteps(metaKey(lease.sessionKey), deadline + sweepGraceMs),
  ];
  const isWaiting = all(
    ...[...unasked(commits), above(["run", "pendingCount"], 0), isRun(runId)],
    ...(entries === undefined ? [] : [absent(["inbox", entries])]),
  );
  return releaseIf(table, lease, free, isWaiting);
}

/**
 * Releases the lease of a session whose run was interrupted often; the sweep wakes the agent at `at`, epoch ms. When a stop
 * was requested or the owner has answered, nothing is written and the new state is returned: the holder continues.
 * @param commits number of commits of this lease
 * @throws LeaseLost
 */
export function releaseUntil(
  table: Table,
  lease: Lease,
  commits: number,
  at: number,
): Promise<SessionState | undefined> {
  const free = [remove("owner"), remove("leaseUntil"), ...dueSteps(metaKey(lease.sessionKey), at)];
  return releaseIf(table, lease, free, all(...unasked(commits)));
}

/** No later commit was made, no stop was requested, and the owner has answered no request. */
function unasked(commits: number): Condition[] {
  const undecided = any(absent(["run", "decided"]), atMost(["run", "decided"], 0));
  return [equal("commits", commits), absent("stop"), undecided];
}

/**
 * Releases the lease of a session with work left, so that another invocation can continue.
 * @throws LeaseLost
 */
export async function releaseUnfinished(table: Table, lease: Lease, now: number): Promise<void> {
  const free = [remove("owner"), remove("leaseUntil"), ...dueSteps(metaKey(lease.sessionKey), now)];
  await commitIf(table, lease, free, equal("epoch", lease.epoch));
}

/**
 * Removes an idle session from the `due` index. Needed after an agent that failed during its release.
 * @returns false, without a write, when the session has a run, an inbox entry or a live lease
 */
export async function unlistIdle(table: Table, sessionKey: string, now: number): Promise<boolean> {
  const idle = all(absent("run"), absent(["inbox", 0]), any(absent("leaseUntil"), below("leaseUntil", now)));
  return succeeds(table.update(metaKey(sessionKey), notDueSteps, all(exists("pk"), idle)));
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
  // No owner: this write had released the lease, but its response was lost. Newer entries have woken another
  // agent.
  return item.owner === undefined ? undefined : toState(item);
}
