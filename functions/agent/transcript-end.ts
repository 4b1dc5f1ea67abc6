import type { Message } from "../../shared/protocol/messages.ts";
import { logError } from "../../shared/runtime/log.ts";
import type { InboxEntry } from "../../shared/session/inbox-entry.ts";
import { type Lease, LeaseLost } from "../../shared/session/lease.ts";
import { assign, type SessionState } from "../../shared/session/state.ts";
import { expireStray, writeMessages } from "../../shared/session/transcript.ts";
import type { Step } from "../../shared/world/expression.ts";
import type { Agent } from "./agent.ts";

/** A held session, as far as writing at the end of its transcript needs it. */
export interface HeldSession {
  lease: Lease;
  /** As of the last write or renewal. */
  state(): SessionState;
  /** Renews the lease. @throws LeaseLost */
  renew(): Promise<unknown>;
  /** Writes the state, and takes an entry out of the inbox, if one is given. @throws LeaseLost */
  commit(steps: readonly Step[], entry?: InboxEntry): Promise<SessionState>;
}

/**
 * Writes messages that follow the transcript. They count once a commit moves the head behind them.
 * @param from the first one's place after the head: 1 is next to it
 * @throws LeaseLost
 */
export async function writeAfterHead(
  agent: Pick<Agent, "table" | "bucket" | "now">,
  { lease, state, renew }: HeldSession,
  messages: readonly Message[],
  from: number,
): Promise<void> {
  // After a pause the session may be another's: what is written then would be left over.
  if ((state().leaseUntil ?? 0) < agent.now()) await renew();
  const { sessionId, head } = state();
  await writeMessages(agent, lease, sessionId, head + from, messages);
}

/**
 * Puts messages at the end of the transcript and writes the state with them.
 * @param entry the oldest of the inbox, which is taken out by the same write
 * @throws LeaseLost
 */
export async function appendMessages(
  agent: Pick<Agent, "table" | "bucket" | "history" | "now">,
  session: HeldSession,
  messages: readonly Message[],
  steps: readonly Step[],
  entry?: InboxEntry,
): Promise<void> {
  const { lease } = session;
  const { sessionId, head } = session.state();
  const moved = assign("head", head + messages.length);
  try {
    await writeAfterHead(agent, session, messages, 1);
    agent.history.extend(await session.commit([moved, ...steps], entry), messages);
  } catch (error) {
    if (!(error instanceof LeaseLost)) throw error;
    const seqs = messages.map((_, i) => head + 1 + i);
    await expireStray(agent, lease, sessionId, seqs, agent.now()).catch((failure: unknown) =>
      logError("transcript.stray", failure, { sessionKey: lease.sessionKey }),
    );
    throw error;
  }
}
