import type { Message } from "../../shared/protocol/messages.ts";
import { logError } from "../../shared/runtime/log.ts";
import { trimAcceptedIds } from "../../shared/session/inbox.ts";
import type { InboxEntry } from "../../shared/session/inbox-entry.ts";
import {
  commit,
  commitEntry,
  commitRunEnd,
  type Lease,
  LeaseLost,
  releaseIdle,
  releaseUnfinished,
  releaseUntil,
  releaseWaiting,
  renew,
} from "../../shared/session/lease.ts";
import { nextPoll, type Run } from "../../shared/session/run.ts";
import { assign, type SessionState } from "../../shared/session/state.ts";
import { isStopped } from "../../shared/session/stop.ts";
import { expireStray, writeMessages } from "../../shared/session/transcript.ts";
import { waitingRequests } from "../../shared/session/waiting.ts";
import { SessionAccount } from "../../shared/spend/session-account.ts";
import type { Step } from "../../shared/world/expression.ts";
import type { Agent } from "./agent.ts";

/** Time between renewals of the lease, well below its length. A renewal also notices a stop. Milliseconds. */
const renewEveryMs = 2000;

/** Whether the session is still held after a step. */
export type Next = "continue" | "released";

type WriterAgent = Pick<Agent, "table" | "bucket" | "history" | "book" | "now">;

/** The single writer of a session, for as long as it holds the lease. */
export class SessionWriter {
  readonly lease: Lease;
  /** What the session pays. Each write of the session's item stores it, too. */
  readonly account: SessionAccount;
  /** Ids of requests that were committed and not shown yet. */
  readonly untold = new Set<string>();
  readonly #agent: WriterAgent;
  #wokenAt: number | undefined;
  readonly #inTurn = oneAtATime();
  readonly #renewals: NodeJS.Timeout;
  #state: SessionState;
  #interruption = new AbortController();

  /**
   * Starts to renew a lease that was just acquired, until the lease is released or `end` is called.
   * @param wokenAt when the invocation began, epoch ms
   */
  constructor(agent: WriterAgent, { lease, state }: { lease: Lease; state: SessionState }, wokenAt?: number) {
    this.#agent = agent;
    this.#wokenAt = wokenAt;
    this.lease = lease;
    this.#state = state;
    this.account = new SessionAccount(agent.book, lease.sessionKey, lease.epoch, state.paid);
    if (isStopped(state)) this.#interruption.abort();
    this.#renewals = setInterval(() => {
      this.#renew().catch((error: unknown) => {
        if (error instanceof LeaseLost) this.#interruption.abort();
        else logError("lease.renew", error, { ...lease });
      });
    }, renewEveryMs);
  }

  get sessionKey(): string {
    return this.lease.sessionKey;
  }

  /** When the invocation began, epoch ms; undefined after the first call of this method. */
  takeWake(): number | undefined {
    const wokenAt = this.#wokenAt;
    this.#wokenAt = undefined;
    return wokenAt;
  }

  /** As of the last write or renewal. */
  get state(): SessionState {
    return this.#state;
  }

  /** Aborts when the run in progress or the oldest inbox entry is stopped, when the lease is lost, and when a write fails. */
  get interrupted(): AbortSignal {
    return this.#interruption.signal;
  }

  /** Writes the session item. @throws LeaseLost */
  commit(steps: readonly Step[]): Promise<SessionState> {
    return this.#interruptingOnFailure(this.#write(steps));
  }

  /** Writes the session item, removes the oldest inbox entry, and trims the accepted ids. @throws LeaseLost */
  commitEntry(entry: InboxEntry, steps: readonly Step[]): Promise<SessionState> {
    return this.#interruptingOnFailure(this.#write(steps, entry));
  }

  /**
   * Appends messages to the transcript, and writes the session item with the new head.
   * @param entry the oldest inbox entry, which the same write removes
   * @param others later entries, which it removes, too
   * @throws LeaseLost
   */
  append(
    messages: readonly Message[],
    steps: readonly Step[],
    entry?: InboxEntry,
    others: readonly InboxEntry[] = [],
  ): Promise<void> {
    return this.#interruptingOnFailure(this.#append(messages, steps, entry, others));
  }

  /** Renews the lease, and so reads the newest state. @throws LeaseLost */
  async refresh(): Promise<void> {
    await this.#renew();
  }

  /**
   * Writes messages after the head. They become part of the transcript when a commit moves the head past them.
   * @param from distance of the first message from the head: 1 is directly after it
   * @throws LeaseLost
   */
  write(messages: readonly Message[], from: number): Promise<void> {
    return this.#interruptingOnFailure(this.#writeAfterHead(messages, from));
  }

  /** Releases a session with nothing to do. @returns false when an entry arrived: the lease is still held. @throws LeaseLost */
  releaseIdle(): Promise<boolean> {
    return this.#release((commits) => releaseIdle(this.#agent.table, this.lease, commits));
  }

  /**
   * Ends the run in progress, writes `steps`, and releases the session.
   * @returns false when an entry arrived: the lease is still held
   * @throws LeaseLost
   */
  endRun(steps: readonly Step[]): Promise<boolean> {
    return this.#interruptingOnFailure(this.#endRun(steps));
  }

  /** Releases a session that waits for tools. @returns false when there is work: the lease is still held. @throws LeaseLost */
  releaseWaiting(run: Run): Promise<boolean> {
    const end = run.deadline ?? this.#agent.now();
    const waiting = { ...run, deadline: Math.min(end, nextPoll(run) ?? end) };
    const entries = waitingRequests(run).length > 0 ? this.#state.inbox.length : undefined;
    return this.#release((commits) =>
      releaseWaiting(this.#agent.table, this.lease, commits, waiting, entries),
    );
  }

  /** Releases a session whose run continues at `at`, epoch ms. @returns false when there is work: the lease is still held. @throws LeaseLost */
  releaseUntil(at: number): Promise<boolean> {
    return this.#release((commits) => releaseUntil(this.#agent.table, this.lease, commits, at));
  }

  /** Releases a session with work left. @throws LeaseLost */
  async releaseUnfinished(): Promise<void> {
    this.end();
    await this.#inTurn(() => releaseUnfinished(this.#agent.table, this.lease, this.#agent.now()));
  }

  /** Stops the renewals without releasing the lease. */
  end(): void {
    clearInterval(this.#renewals);
  }

  #see(next: SessionState): SessionState {
    // New work starts without the interruption of the last.
    if (this.interrupted.aborted && workOf(next) !== workOf(this.#state))
      this.#interruption = new AbortController();
    this.#state = next;
    if (isStopped(next)) this.#interruption.abort();
    return next;
  }

  #renew(): Promise<SessionState> {
    const { table, now } = this.#agent;
    return this.#inTurn(async () => this.#see(await renew(table, this.lease, now())));
  }

  #write(
    steps: readonly Step[],
    entry?: InboxEntry,
    others: readonly InboxEntry[] = [],
  ): Promise<SessionState> {
    const { table, now } = this.#agent;
    return this.#inTurn(async () => {
      const paid = this.account.unsaved;
      const all = [...steps, ...(paid === undefined ? [] : [assign("paid", paid)])];
      if (entry) all.push(...trimAcceptedIds(this.#state, entry.id, now()));
      const written = entry
        ? await commitEntry(table, this.lease, entry, all, placesOf(others, this.#state))
        : await commit(table, this.lease, all, this.#state);
      if (paid !== undefined) this.account.saved(paid);
      return this.#see(written);
    });
  }

  async #writeAfterHead(messages: readonly Message[], from: number): Promise<void> {
    // After a pause another invocation may own the session; then these writes would never become part of the transcript.
    if ((this.#state.leaseUntil ?? 0) < this.#agent.now()) await this.#renew();
    const { sessionId, head } = this.#state;
    await writeMessages(this.#agent, this.lease, sessionId, head + from, messages);
  }

  async #append(
    messages: readonly Message[],
    steps: readonly Step[],
    entry?: InboxEntry,
    others?: readonly InboxEntry[],
  ): Promise<void> {
    const { sessionId, head } = this.#state;
    const moved = assign("head", head + messages.length);
    try {
      await this.#writeAfterHead(messages, 1);
      this.#agent.history.extend(await this.#write([moved, ...steps], entry, others), messages);
    } catch (error) {
      if (!(error instanceof LeaseLost)) throw error;
      const seqs = messages.map((_, index) => head + 1 + index);
      const { lease } = this;
      await expireStray(this.#agent, lease, sessionId, seqs, this.#agent.now()).catch((failure: unknown) =>
        logError("transcript.stray", failure, { sessionKey: lease.sessionKey }),
      );
      throw error;
    }
  }

  async #endRun(steps: readonly Step[]): Promise<boolean> {
    const { table } = this.#agent;
    const { runId } = runOf(this);
    const paid = this.account.unsaved;
    const end = { runId, steps: [...steps, ...(paid === undefined ? [] : [assign("paid", paid)])] };
    if (await this.#release((commits) => releaseIdle(table, this.lease, commits, end))) return true;
    await this.#inTurn(async () => this.#see(await commitRunEnd(table, this.lease, runId, end.steps)));
    return false;
  }

  /** @param write resolves to undefined when the session was released, else to the state with the arrived entry */
  async #release(write: (commits: number) => Promise<SessionState | undefined>): Promise<boolean> {
    const held = await this.#inTurn(async () => {
      const left = await write(this.#state.commits ?? 0);
      return left && this.#see(left);
    });
    if (!held) this.end();
    return !held;
  }

  #interruptingOnFailure<T>(write: Promise<T>): Promise<T> {
    return write.catch((error: unknown) => {
      this.#interruption.abort();
      throw error;
    });
  }
}

/** The run in progress, as of the last write. @throws Error when there is none */
export function runOf({ state, sessionKey }: Pick<SessionWriter, "state" | "sessionKey">): Run {
  if (!state.run) throw new Error(`session ${sessionKey} has no run`);
  return state.run;
}

/** The entries that are still in the inbox, with their places. */
function placesOf(entries: readonly InboxEntry[], { inbox }: SessionState) {
  return inbox.flatMap((entry, at) => (entries.some(({ id }) => id === entry.id) ? [{ entry, at }] : []));
}

/** The id of the run in progress, or of the entry that is next: a message's is that of its run. */
function workOf({ run, inbox: [entry] }: SessionState): string | undefined {
  return run?.runId ?? entry?.id;
}

/** Runs one write at a time: a late response must not replace a newer state, and no renewal may follow a release. */
function oneAtATime() {
  let last: Promise<unknown> = Promise.resolve();
  return <T>(write: () => Promise<T>): Promise<T> => {
    const next = last.then(write, write);
    last = next.catch(() => {});
    return next;
  };
}
