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
import type { SessionState } from "../../shared/session/state.ts";
import type { Step } from "../../shared/world/expression.ts";
import type { Agent } from "./agent.ts";
import type { Surroundings } from "./context/peers.ts";

/** Renewals are this far apart: well inside the lease, and the longest that a stop goes unseen. Milliseconds. */
const renewEveryMs = 3000;

/** A session that this invocation holds: its state as last seen, and the lease kept alive. */
export interface Hold {
  readonly sessionKey: string;
  readonly lease: Lease;
  /** As of the last write or renewal. */
  readonly state: SessionState;
  /** Aborts when the run in progress is to be stopped, or when the lease is lost. */
  readonly interrupted: AbortSignal;
  /** The step whose calls this invocation has sent out and run. */
  carriedOut?: string;
  /** What was read ahead for the invocation's first model call; it is given once. */
  takeForeseen(): Surroundings | undefined;
  /**
   * The clients to tell what follows from the last model call: read while that is being committed, and there once they
   * have been sent all of its text. Whoever tells them takes it.
   */
  listeners?: Promise<string[]>;
  /** Writes the state. @throws LeaseLost */
  commit(steps: readonly Step[]): Promise<SessionState>;
  /** Writes the state, takes the oldest entry out of the inbox, and forgets ids of long ago. @throws LeaseLost */
  commitEntry(entry: InboxEntry, steps: readonly Step[]): Promise<SessionState>;
  /** Lets go of a session with nothing to do. False when something came in: it is still held. @throws LeaseLost */
  releaseIdle(steps: readonly Step[]): Promise<boolean>;
  /** Lets go while tools are out. False when there is something to do: it is still held. @throws LeaseLost */
  releaseWaiting(deadline: number): Promise<boolean>;
  /** Lets go with work left, whatever it is. @throws LeaseLost */
  releaseUnfinished(): Promise<void>;
  /** Ends the renewals, without letting go. */
  end(): void;
}

/** Takes over the renewals of a lease that was just acquired, until it is released or ended. */
export function startHold(
  { table, now }: Pick<Agent, "table" | "now">,
  { lease, state: acquired }: { lease: Lease; state: SessionState },
  surroundings: Surroundings,
): Hold {
  let foreseen: Surroundings | undefined = surroundings;
  let state = acquired;
  let controller = new AbortController();
  const see = (next: SessionState): SessionState => {
    // An interrupted run is over once it is another run's turn.
    if (controller.signal.aborted && next.run?.runId !== state.run?.runId) controller = new AbortController();
    state = next;
    if (next.run && next.stop === next.run.runId) controller.abort();
    return next;
  };
  // One write at a time: an answer that comes late must not hide a newer state, nor a renewal follow a release.
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
  return {
    sessionKey: lease.sessionKey,
    lease,
    get state() {
      return state;
    },
    get interrupted() {
      return controller.signal;
    },
    takeForeseen() {
      const taken = foreseen;
      foreseen = undefined;
      return taken;
    },
    commit: (steps) => inTurn(async () => see(await commit(table, lease, steps))),
    commitEntry: (entry, steps) =>
      inTurn(async () => see(await commitEntry(table, lease, entry, [...steps, ...forgetOldIds(state)]))),
    releaseIdle: (steps) => letGo(() => releaseIdle(table, lease, steps)),
    releaseWaiting: (deadline) => letGo(() => releaseWaiting(table, lease, deadline)),
    async releaseUnfinished() {
      clearInterval(timer);
      await inTurn(() => releaseUnfinished(table, lease, now()));
    },
    end: () => clearInterval(timer),
  };
}
