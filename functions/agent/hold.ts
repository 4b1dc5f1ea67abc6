import type { Message } from "../../shared/protocol/messages.ts";
import { logError } from "../../shared/runtime/log.ts";
import { settleSteps } from "../../shared/session/accepted-ids.ts";
import type { InboxEntry } from "../../shared/session/inbox-entry.ts";
import {
  commit,
  commitEntry,
  commitRunEnd,
  type Lease,
  LeaseLost,
  releaseIdle,
  releaseUnfinished,
  releaseWaiting,
  renew,
} from "../../shared/session/lease.ts";
import type { Run } from "../../shared/session/run.ts";
import type { SessionState } from "../../shared/session/state.ts";
import type { Step } from "../../shared/world/expression.ts";
import type { Agent } from "./agent.ts";
import { appendMessages, type HeldSession, writeAfterHead } from "./transcript-end.ts";

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
  /** Writes the state, takes the oldest entry out of the inbox, and settles accepted ids. @throws LeaseLost */
  commitEntry(entry: InboxEntry, steps: readonly Step[]): Promise<SessionState>;
  /**
   * Puts messages at the end of the transcript and writes the state with them.
   * @param entry the oldest of the inbox, which is taken out by the same write
   * @throws LeaseLost
   */
  append(messages: readonly Message[], steps: readonly Step[], entry?: InboxEntry): Promise<void>;
  /**
   * Writes messages that follow the transcript. They count once a commit moves the head behind them.
   * @param from the first one's place after the head: 1 is next to it
   * @throws LeaseLost
   */
  write(messages: readonly Message[], from: number): Promise<void>;
  /** Lets go of a session with nothing to do. False when something came in: it is still held. @throws LeaseLost */
  releaseIdle(): Promise<boolean>;
  /**
   * Ends the run in progress, writes `steps`, and lets go of the session.
   * @returns false when something came in: the session is still held
   * @throws LeaseLost
   */
  endRun(steps: readonly Step[]): Promise<boolean>;
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

/** Runs one write at a time: a late answer must not hide a newer state, nor a renewal follow a release. */
function oneAtATime() {
  let last: Promise<unknown> = Promise.resolve();
  return <T>(write: () => Promise<T>): Promise<T> => {
    const next = last.then(write, write);
    last = next.catch(() => {});
    return next;
  };
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
  const inTurn = oneAtATime();
  const refresh = () => inTurn(async () => see(await renew(table, lease, now())));
  const timer = setInterval(() => {
    refresh().catch((error: unknown) => {
      if (error instanceof LeaseLost) controller.abort();
      else logError("lease.renew", error, { ...lease });
    });
  }, renewEveryMs);
  const letGo = async (release: (commits: number) => Promise<SessionState | undefined>): Promise<boolean> => {
    const held = await inTurn(async () => {
      const left = await release(state.commits ?? 0);
      return left && see(left);
    });
    if (!held) clearInterval(timer);
    return !held;
  };
  const interruptingOnFailure = <T>(write: Promise<T>): Promise<T> =>
    write.catch((error: unknown) => {
      controller.abort();
      throw error;
    });
  const write = (steps: readonly Step[]) => inTurn(async () => see(await commit(table, lease, steps, state)));
  const writeEntry = (entry: InboxEntry, steps: readonly Step[]) =>
    inTurn(async () => {
      const all = [...steps, ...settleSteps(state, entry.id, now())];
      return see(await commitEntry(table, lease, entry, all));
    });
  const session: HeldSession = {
    lease,
    state: () => state,
    renew: refresh,
    commit: (steps, entry) => (entry ? writeEntry(entry, steps) : write(steps)),
  };
  const endRun: Hold["endRun"] = async (steps) => {
    const { runId } = runOf({ state, sessionKey: lease.sessionKey });
    if (await letGo((commits) => releaseIdle(table, lease, commits, { runId, steps }))) return true;
    await inTurn(async () => see(await commitRunEnd(table, lease, runId, steps)));
    return false;
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
    append: (messages, steps, entry) =>
      interruptingOnFailure(appendMessages(agent, session, messages, steps, entry)),
    write: (messages, from) => interruptingOnFailure(writeAfterHead(agent, session, messages, from)),
    releaseIdle: () => letGo((commits) => releaseIdle(table, lease, commits)),
    endRun: (steps) => interruptingOnFailure(endRun(steps)),
    releaseWaiting: (deadline) => letGo((commits) => releaseWaiting(table, lease, commits, deadline)),
    async releaseUnfinished() {
      clearInterval(timer);
      await inTurn(() => releaseUnfinished(table, lease, now()));
    },
    end: () => clearInterval(timer),
  };
}
