import type { SessionContext } from "../context/activation.ts";
import type { CompactResult, ResetResult, TokenCount } from "../protocol/results.ts";
import type { ResetPolicy, SessionSettings } from "../protocol/schemas.ts";
import { type Step, set } from "../world/expression.ts";
import type { Item, ItemValue, Key } from "../world/world.ts";
import type { InboxEntry, Origin } from "./inbox-entry.ts";
import { isSent, nextPoll, type Run } from "./run.ts";
import { isSetAside, waitingRequests } from "./waiting.ts";

/** A compaction in progress. It is finished before any other work in the session. */
export interface Compaction {
  /**
   * Start time, epoch ms. It is part of the archive's key, so that a repeat after a crash writes the same
   * archive.
   */
  at: number;
  /** The last message that is archived; later messages stay. */
  upTo: number;
  /** Maximum characters of the summary message. */
  mostCharacters: number;
  /** How often it was started. */
  attempt: number;
  /** Present after completion: the answer to the request. */
  result?: CompactResult;
}

/**
 * A reset in progress. It is committed first, so that a repeat after a crash does the same. Each completed
 * step sets a field.
 */
export interface Resetting {
  newSessionId: string;
  /** Start time; epoch ms. */
  at: number;
  /** The inbox entry that requested it; absent when a message arrived in a session that was due for a reset. */
  entryId?: string;
  /** Whether the next conversation is private. */
  private?: true;
  /** How often it was started. */
  attempt: number;
  /** Number of live messages at the start. */
  messages: number;
  /** Present when the archive is written: its key. */
  archivedTo?: string;
  /** Memories that an earlier version extracted during the reset; empty when there were none. */
  memories?: string;
  /** Number of media objects that were deleted. */
  mediaDeleted?: number;
  /** Present when the session has its new id: the answer to the request. */
  result?: ResetResult;
}

/** The archived conversation of a reset, from which memories are to be extracted (`shared/session/extraction.ts`). */
export interface ToExtract {
  sessionId: string;
  /** The archive's key. */
  archive: string;
  /** Time of the reset, epoch ms. */
  queuedAt: number;
  /** Last activity of the conversation, epoch ms: its date names the day's notes. */
  at: number;
  /** Whose words the conversation contains, besides the owner's. Absent: of an earlier version. */
  origins?: string[];
}

/**
 * A session's spending as stored in its item (`shared/session/spending.ts`): each period is one text, because the item is
 * written several times a turn and billed by its size.
 */
export interface StoredSpending {
  /** The last turn that the model answered. */
  turn?: string;
  /** Since the last reset. */
  session: string;
  /** On one day, `YYYY-MM-DD` in the user's timezone. */
  day: string;
}

/** The owner's verdict on an answer, which the next turn tells the model. */
export interface Feedback {
  /** The platform's id of the answer's message. A later verdict on it replaces an earlier one. */
  messageId: string;
  /** Absent: the owner has none any more. */
  emoji?: "👍" | "👎";
  /** The owner took this verdict back; another one may remain. */
  isRemoved?: true;
  /** The beginning of the answer. */
  text: string;
}

/**
 * A session: lease, inbox and state in one item, so that each change is one conditional write.
 * Times are epoch ms.
 */
export interface SessionState {
  sessionKey: string;
  /** UUID; changes on reset. */
  sessionId: string;
  createdAt: number;
  /** Last activity of the conversation. */
  updatedAt: number;
  /** The fencing token: each `acquire` adds one, and only the newest holder may commit. */
  epoch: number;
  owner?: string;
  leaseUntil?: number;
  inbox: InboxEntry[];
  /** Sum of `entryBytes` of the inbox, limited by `maxInboxBytes`. */
  inboxBytes: number;
  /** Accepted ids; retries with these ids are dropped. The latest, with their times … */
  recent: Record<string, number>;
  /** … and the earlier ones as hashes (`shared/session/inbox.ts`). Absent until the first entry leaves the inbox. */
  accepted?: string;
  /** Sequence numbers of the first and last live message, both inclusive. */
  first: number;
  head: number;
  run?: Run;
  /** Whose words the conversation contains, besides the owner's, as of its last run. Absent: no run of this version has ended in it. */
  origins?: string[];
  /** Number of commits by the holder of this epoch. Absent in an item of an earlier version until its next lease. */
  commits?: number;
  /** The entry whose attachments were last fetched, and the number of attempts. */
  receiving?: { entryId: string; tries: number };
  /** Id of the run that a stop was requested for. */
  stop?: string;
  /** Id of the entry with a compaction that a stop was requested for. Not in `stop`, which an earlier version removes with a run. */
  stopEntry?: string;
  /** The conversation is not archived, not searched, and no memories are extracted from it. */
  private?: true;
  tokens: TokenCount;
  /** Tokens and money spent on model calls; absent in an item of an earlier version until the next reply. */
  spent?: StoredSpending;
  /** What budgets count (`shared/spend/paid.ts`); absent in an item of an earlier version until its next model call. */
  paid?: string;
  /** Input tokens of the last model call, as reported by the provider: the size of the context. */
  contextTokens?: number;
  /** Tokens for each character of the context, measured at that call. */
  tokensPerCharacter?: number;
  /** At that call: the size of the context window, the share of prompt and tools in its characters (0 to 1), and the number of tokens above which a compaction starts. */
  contextLimits?: { window: number; promptShare: number; compactsAt?: number };
  /** The first digits of the SHA-256 of the newest reply's prompt, once its text is stored (`shared/objects/text-store.ts`). Kept across resets. */
  promptHash?: string;
  /** The state of the conversation's objects that its messages do not contain. */
  context?: SessionContext;
  compacting?: Compaction;
  /** Start time of the last compaction. The next one starts later, so that its archive has another key. */
  compactedAt?: number;
  /** Messages from here up to `first - 1` are archived but not yet deleted. */
  clearFrom?: number;
  settings: SessionSettings;
  /** The channel of the last message that came from one; kept across resets. */
  lastChannel?: Extract<Origin, { kind: "channel" }>;
  /** Tools of MCP servers that `gsv__ToolSearch` has found, oldest first: the model is offered these of many. */
  foundTools?: string[];
  /** The owner's verdicts on answers since the last turn. */
  feedback?: Feedback[];
  label?: string;
  resetPolicy?: ResetPolicy;
  lastResetAt?: number;
  resetting?: Resetting;
  /** Until its extraction is queued. An earlier version that continues the reset leaves it. */
  extracting?: ToExtract;
  /** Time of the schedule that checks for a reset. Other schedules of the session are ignored. */
  resetScheduledFor?: number;
  /** Number of resets. Each has an item with the id of the conversation that it ended: `readPreviousIds` reads them. */
  resets?: number;
  /** Earlier ids, oldest first, in an item of an earlier version until its next reset; then an empty list, which that version reads. */
  previousSessionIds?: string[];
}

export function metaKey(sessionKey: string): Key {
  return { pk: `S#${sessionKey}`, sk: "META" };
}

export function messageKey(sessionKey: string, sessionId: string, seq: number): Key {
  return { pk: `S#${sessionKey}`, sk: `M#${sessionId}#${String(seq).padStart(10, "0")}` };
}

export function resultKey(sessionKey: string, runId: string, step: number, callId: string): Key {
  return { pk: `S#${sessionKey}`, sk: `R#${runId}#${step}#${callId}` };
}

/** How long after a schedule's time the sweep acts in its place, ms: the Scheduler may be a minute late. */
export const scheduleGraceMs = 120_000;

/** Reads the META item without validation: only code in this folder writes it. */
export function toState(item: Item): SessionState {
  return item as unknown as SessionState;
}

/** The update step that sets an attribute of a session. */
export function assign<Name extends keyof SessionState & string>(
  name: Name,
  value: NonNullable<SessionState[Name]>,
): Step {
  return set(name, value as unknown as ItemValue);
}

/** The state of a new session. */
export function newSession(sessionKey: string, sessionId: string, now: number): SessionState {
  return {
    sessionKey,
    sessionId,
    createdAt: now,
    updatedAt: now,
    epoch: 0,
    inbox: [],
    inboxBytes: 0,
    recent: {},
    first: 1,
    head: 0,
    tokens: { input: 0, output: 0, total: 0 },
    settings: {},
  };
}

/** Number of live messages: committed and not archived. */
export function messageCount(state: Pick<SessionState, "first" | "head">): number {
  return state.head - state.first + 1;
}

/** True while an agent holds a lease that has not expired. */
export function isLeased(state: SessionState, now: number): boolean {
  return state.leaseUntil !== undefined && state.leaseUntil >= now;
}

/**
 * Whether the agent has to be woken: there is work, and no agent holds the lease. While a run waits for
 * tools, the last tool result wakes the agent; while it waits for the owner's answer, so does a message that sets the
 * request aside, and while a server works on a task, so does the time to ask about it. A lease holder sees new entries when it releases.
 */
export function needsAgent(state: SessionState, now: number): boolean {
  if (isLeased(state, now)) return false;
  if (state.run === undefined) return state.inbox.length > 0 || state.clearFrom !== undefined;
  const { phase, pendingCount, decided, runId, retryAt } = state.run;
  if (phase !== "tools" || pendingCount === 0 || state.stop === runId) return true;
  const isRetried = retryAt !== undefined && !isSent(state.run);
  // An agent that died may not have shown its requests to anybody.
  const isUntold = state.owner !== undefined && waitingRequests(state.run).length > 0;
  const isPolled = (nextPoll(state.run) ?? Number.POSITIVE_INFINITY) <= now;
  return (decided ?? 0) > 0 || isRetried || isUntold || isPolled || isSetAside(state);
}
