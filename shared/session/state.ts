import type { CompactResult, ResetResult, TokenCount } from "../protocol/results.ts";
import type { ResetPolicy, SessionSettings } from "../protocol/schemas.ts";
import { type Step, set } from "../world/expression.ts";
import type { Item, ItemValue, Key } from "../world/world.ts";
import type { InboxEntry, Origin } from "./inbox-entry.ts";
import type { Run } from "./run.ts";

/** A compaction that has begun, and is finished before anything else is done in the session. */
export interface Compaction {
  /** When it began, epoch ms: the suffix of its archive, and what makes a repeat after a crash the same. */
  at: number;
  /** The last message that is archived; those behind it stay. */
  upTo: number;
  /** Most characters of the message that stands for what is archived. */
  mostCharacters: number;
  /** Times it was taken up. */
  attempt: number;
  /** It is done, and the request that asked for it is to be answered with this. */
  result?: CompactResult;
}

/**
 * A reset that has begun, committed before anything is done, so that whoever takes it up after a crash does the same.
 * Each step that is done leaves its mark.
 */
export interface Resetting {
  newSessionId: string;
  /** When it began; epoch ms. */
  at: number;
  /** The entry that asked for it; absent when a message found the session due. */
  entryId?: string;
  /** Times it was taken up. */
  attempt: number;
  /** Messages that were live when it began. */
  messages: number;
  /** The archive is written, at this key. */
  archivedTo?: string;
  /** What was extracted for the daily memory file; empty when there was nothing, or no way to find out. */
  memories?: string;
  /** Media objects that there were to delete. */
  mediaDeleted?: number;
  /** The session has its new id, and the request is to be answered with this. */
  result?: ResetResult;
}

/**
 * A session: lock, mailbox and state in one item, so that one conditional write settles each question.
 * Times are epoch ms.
 */
export interface SessionState {
  sessionKey: string;
  /** UUID; changes on reset. */
  sessionId: string;
  createdAt: number;
  /** Last activity of the conversation. */
  updatedAt: number;
  /** The fencing token: each acquire adds one, and only the newest may commit. */
  epoch: number;
  owner?: string;
  leaseUntil?: number;
  inbox: InboxEntry[];
  /** What the inbox counts for against its bound. */
  inboxBytes: number;
  /** Ids of entries accepted lately, with the time: a repeat of one of these is dropped. */
  recent: Record<string, number>;
  /** First and last live message; readers read `first … head`. */
  first: number;
  head: number;
  run?: Run;
  /** The entry whose attachments were last fetched, and how often that was begun. */
  receiving?: { entryId: string; tries: number };
  /** Id of the run that is to be stopped. */
  stop?: string;
  tokens: TokenCount;
  /** Input tokens of the last model call, as reported: the size of the context. */
  contextTokens?: number;
  /** Tokens that a character of the context came to at that call. */
  tokensPerCharacter?: number;
  compacting?: Compaction;
  /** When the last compaction began: the next one begins later, so that its archive has a name of its own. */
  compactedAt?: number;
  /** Messages from here to before `first` are archived, and still to be deleted. */
  clearFrom?: number;
  settings: SessionSettings;
  /** Where the conversation was last held on a channel; it outlives resets. */
  lastChannel?: Extract<Origin, { kind: "channel" }>;
  label?: string;
  resetPolicy?: ResetPolicy;
  lastResetAt?: number;
  resetting?: Resetting;
  /** When the schedule that looks whether a reset is due fires; one at a time counts. */
  resetScheduledFor?: number;
  /** Oldest first; the newest of them, see `maxPreviousIds`. */
  previousSessionIds: string[];
}

/** Ids of earlier conversations that a session remembers; the bucket keeps the archives of all. */
export const maxPreviousIds = 500;

export function metaKey(sessionKey: string): Key {
  return { pk: `S#${sessionKey}`, sk: "META" };
}

export function messageKey(sessionKey: string, sessionId: string, seq: number): Key {
  return { pk: `S#${sessionKey}`, sk: `M#${sessionId}#${String(seq).padStart(10, "0")}` };
}

export function resultKey(sessionKey: string, runId: string, step: number, callId: string): Key {
  return { pk: `S#${sessionKey}`, sk: `R#${runId}#${step}#${callId}` };
}

/** Partition of the `due` index: sessions with something to do or to wait for. */
export const duePartition = "DUE";
/** Partition of the `list` index that holds every session, by last activity. */
export const sessionPartition = "SESSION";

/** Reads the META item. The item is only ever written by this folder, so its shape is trusted. */
export function toState(item: Item): SessionState {
  return item as unknown as SessionState;
}

/** The update step that gives an attribute of a session a new value. */
export function assign<Name extends keyof SessionState & string>(
  name: Name,
  value: NonNullable<SessionState[Name]>,
): Step {
  return set(name, value as unknown as ItemValue);
}

/** A new session, as it is first written. */
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
    previousSessionIds: [],
  };
}

/** Messages that are live: written, committed and not archived. */
export function messageCount(state: Pick<SessionState, "first" | "head">): number {
  return state.head - state.first + 1;
}

/** True while some agent holds the session and has not let its lease run out. */
export function isLeased(state: SessionState, now: number): boolean {
  return state.leaseUntil !== undefined && state.leaseUntil >= now;
}

/**
 * Whether an intake has to start the agent: something is to be done and nobody is there to notice. While a run waits
 * for tools, the last tool result does the waking; a live holder meets the change when it releases.
 */
export function needsAgent(state: SessionState, now: number): boolean {
  if (isLeased(state, now)) return false;
  if (state.run === undefined) return state.inbox.length > 0;
  return state.run.phase !== "tools" || state.run.pendingCount === 0 || state.stop === state.run.runId;
}
