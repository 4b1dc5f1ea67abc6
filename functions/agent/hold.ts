import type { Message } from "../../shared/protocol/messages.ts";
import { logError } from "../../shared/runtime/log.ts";
import { forgetOldIds } from "../../shared/session/inbox.ts";
import type { InboxEntry } from "../../shared/session/inbox-entry.ts";
import {
  commit,
  commitEntry,
  type Lease,
  LeaseLost,
  releaseIdle,
  releaseUnfinished,
  releaseWaiting,
  renew,
} from "../../shared/session/lease.ts";
import type { Run } from "../../shared/session/run.ts";
import { assign, type SessionState } from "../../shared/session/state.ts";
import { writeMessages } from "../../shared/session/transcript.ts";
import type { Step } from "../../shared/world/expression.ts";
import type { Agent } from "./agent.ts";

/** Renewals are this far apart: well inside the lease, and the longest that a stop goes unseen. Milliseconds. */
const renewEveryMs = 3000;

/** A session that this invocation holds: its state as last seen, and the lease kept alive. */
export interface Hold {
  readonly sessionKey: string;
  readonly lease: Lease;
  /** As of the last write or renewal. */
  readonly state: SessionState;
  /** Aborts when the run in progress is to be stopped, when the lease is lost, and when a write has failed. */
  readonly interrupted: AbortSignal;
  /** Writes the state. @throws LeaseLost */
  commit(steps: readonly Step[]): Promise<SessionState>;
  /** Writes the state, takes the oldest entry out of the inbox, and forgets old ids. @throws LeaseLost */
  commitEntry(entry: InboxEntry, steps: readonly Step[]): Promise<SessionState>;
  /**
   * Puts messages at the end of the transcript and writes the state with them.
   * @param entry the oldest of the inbox, which is taken out by the same write
   * @throws LeaseLost
   */
  append(messages: readonly Message[], steps: readonly Step[], entry?: InboxEntry): Promise<void>;
  /** Lets go of a session with nothing to do. False when something came in: it is still held. @throws LeaseLost */
  releaseIdle(steps: readonly Step[]): Promise<boolean>;
  /** Lets go while tools are out. False when there is something to do: it is still held. @throws LeaseLost */
  releaseWaiting(deadline: number): Promise<boolean>;
  /** Lets go with work left, whatever it is. @throws LeaseLost */
  releaseUnfinished(): Promise<void>;
  /** Ends the renewals, without letting go. */
  end(): void;
}

/** The run in progress, as of the last write. @throws Error when there is none */
export function runOf({ state, sessionKey }: Pick<Hold, "state" | "sessionKey">): Run {
  if (!state.run) throw new Error(`session ${sessionKey} has no run`);
  return state.run;
}

/** Takes over the renewals of a lease that was just acquired, until it is released or ended. */
export function startHold(
  agent: Pick<Agent, "table" | "bucket" | "history" | "now">,
  { lease, state: acquired }: { lease: Lease; state: SessionState },
): Hold {
  const { table, now } = agent;
  let state = acquired;
  let controller = new AbortController();
  const see = (next: SessionState): SessionState => {
    // The interruption of a run is over when another run has begun.
    if (controller.signal.aborted && next.run?.runId !== state.run?.runId) controller = new AbortController();
    state = next;
    if (next.run && next.stop === next.run.runId) controller.abort();
    return next;
  };
  // One write at a time: a late answer must not hide a newer state, nor a renewal follow a release.
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(write: () => Promise<T>): Promise<T> => {
    const next = last.then(write, write);
    last = next.catch(() => {});
    return next;
  };
  const refresh = () => inTurn(async () => see(await renew(table, lease, now())));
  const timer = setInterval(() => {
    refresh().catch((error: unknown) => {
      if (error instanceof LeaseLost) controller.abort();
      else logError("lease.renew", error, { sessionKey: lease.sessionKey });
    });
  }, renewEveryMs);
  const letGo = async (release: () => Promise<SessionState | undefined>): Promise<boolean> => {
    const held = await inTurn(async () => {
      const left = await release();
      return left && see(left);
    });
    if (!held) clearInterval(timer);
    return !held;
  };
  const interruptingOnFailure = async <T>(write: Promise<T>): Promise<T> => {
    try {
      return await write;
    } catch (error) {
      controller.abort();
      throw error;
    }
  };
  const write = (steps: readonly Step[]) => inTurn(async () => see(await commit(table, lease, steps)));
  const writeEntry = (entry: InboxEntry, steps: readonly Step[]) =>
    inTurn(async () => see(await commitEntry(table, lease, entry, [...steps, ...forgetOldIds(state)])));
  const append: Hold["append"] = async (messages, steps, entry) => {
    const { sessionId, head } = state;
    await writeMessages(agent, lease, sessionId, head + 1, messages);
    const all = [assign("head", head + messages.length), ...steps];
    agent.history.extend(await (entry ? writeEntry(entry, all) : write(all)), messages);
  };
  return {
    sessionKey: lease.sessionKey,
    lease,
    get state() {
      return state;
    },
    get interrupted() {
      return controller.signal;
    },
    commit: (steps) => interruptingOnFailure(write(steps)),
    commitEntry: (entry, steps) => interruptingOnFailure(writeEntry(entry, steps)),
    append: (messages, steps, entry) => interruptingOnFailure(append(messages, steps, entry)),
    releaseIdle: (steps) => letGo(() => releaseIdle(table, lease, steps)),
    releaseWaiting: (deadline) => letGo(() => releaseWaiting(table, lease, deadline)),
    async releaseUnfinished() {
      clearInterval(timer);
      await inTurn(() => releaseUnfinished(table, lease, now()));
    },
    end: () => clearInterval(timer),
  };
}
