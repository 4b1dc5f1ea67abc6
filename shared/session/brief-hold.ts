import { randomUUID } from "node:crypto";
import { code, PeerError } from "../protocol/errors.ts";
import type { Table, WakeAgent } from "../world/world.ts";
import { acquire, type Lease, LeaseLost, releaseIdle, releaseUnfinished } from "./lease.ts";
import type { SessionState } from "./state.ts";

/** The dependencies of a change that a client makes to a whole session. */
export interface Holder {
  table: Table;
  wake: WakeAgent;
  now(): number;
}

/** A session that a client's request holds. */
interface HeldSession {
  lease: Lease;
  state: SessionState;
}

/**
 * Holds a session's lease while `change` works, and releases it afterwards.
 * @param change returns the number of its commits
 * @throws PeerError 409, retryable, while another invocation holds the session, or when one takes it over
 */
export async function holdBriefly(
  holder: Holder,
  sessionKey: string,
  change: (held: HeldSession) => Promise<number>,
): Promise<void> {
  const { table, now } = holder;
  const held = await acquire(table, sessionKey, randomUUID(), now());
  if (!held) throw busy(sessionKey);
  try {
    await release(holder, held.lease, await change(held));
  } catch (error) {
    if (error instanceof LeaseLost) throw busy(sessionKey);
    await release(holder, held.lease, 0).catch(() => {});
    throw error;
  }
}

/** Whether nothing is in progress or waiting in a session. */
export function isAtRest({ run, inbox, resetting, compacting }: SessionState): boolean {
  return !run && inbox.length === 0 && !resetting && !compacting;
}

/** Releases the lease, and wakes the agent when entries arrived meanwhile. */
async function release({ table, wake, now }: Holder, lease: Lease, commits: number): Promise<void> {
  if (!(await releaseIdle(table, lease, commits))) return;
  await releaseUnfinished(table, lease, now());
  await wake(lease.sessionKey);
}

function busy(sessionKey: string): PeerError {
  return new PeerError(code.conflict, `${sessionKey} is being worked on; try again in half a minute`, {
    retryable: true,
  });
}
