import { agentIdOf } from "../session/key/session-key.ts";
import { readPreviousIds } from "../session/previous-ids.ts";
import { listSessions, readSession } from "../session/sessions.ts";
import type { SessionState } from "../session/state.ts";
import { readMessages } from "../session/transcript.ts";
import { originsOfSession } from "../session/words-read.ts";
import type { Bucket, Table } from "../world/world.ts";
import { createArchivedTurns } from "./archived-turns.ts";
import type { Turn } from "./segment.ts";
import type { Segments } from "./segments.ts";
import { createTurnIndex, type IndexedTurn, type TurnIndex } from "./turn-index.ts";
import { turnsOf } from "./turns-of.ts";

/** The conversations that a search may read. */
export interface RecallScope {
  agentId: string;
  /** The asking conversation, or the only one to read: canonical. Absent for a client's search with `all`. */
  sessionKey?: string;
  /** True: all conversations of the agent. False: only those of `sessionKey`, including earlier ones. */
  all: boolean;
  /** With `all`: only conversations of these sessions. Absent: of every session. */
  sees?: (sessionKey: string) => boolean;
  /** IANA name; determines the day of a message. */
  timezone: string;
  /** Excludes messages of `sessionKey` from its user's newest message on: the question itself. */
  withoutNewest?: boolean;
}

/** The turns of a scope. */
export interface SaidTurns {
  /** Those of archived conversations by quarter, then those of live ones; also some that the scope does not contain. Do not add to them. */
  indexes: readonly TurnIndex[];
  /** Whether the scope contains a turn. */
  isSeen(turn: IndexedTurn): boolean;
  /** The ids of the live conversations, by session key. */
  live: ReadonlyMap<string, string>;
  /** Number of archives that were not searched yet; the next search continues with them. */
  waiting: number;
}

/** Reads the turns of a scope. A warm function caches those of archives. */
export function createSaidTurns(
  store: { table: Table; bucket: Bucket },
  segments: Segments,
  archivedTurns = createArchivedTurns(store.bucket, segments),
): (scope: RecallScope) => Promise<SaidTurns> {
  return async (scope) => {
    const { agentId, sessionKey, all, sees, timezone } = scope;
    const own = sessionKey === undefined ? [] : [sessionKey];
    const keys = all ? new Set([...own, ...(await liveSessionKeys(store.table, agentId))]) : own;
    // Read the archives after the sessions: messages that a session no longer has are in one of them.
    const read = await Promise.all([...keys].map((key) => readLiveTurns(store, key)));
    const live = read.filter((one) => one !== undefined);
    const ids = all ? undefined : new Set(await conversationIds(store.table, live));
    const { indexes: archived, waiting } = await archivedTurns(agentId, timezone);
    return {
      indexes: [...archived, indexLive(live, archived, scope)],
      isSeen: ({ conversation }) =>
        ids?.has(conversation.sessionId) ?? sees?.(conversation.sessionKey) ?? true,
      live: new Map(live.map(({ state }) => [state.sessionKey, state.sessionId])),
      waiting,
    };
  };
}

/** The ids of all current and earlier conversations of sessions. */
async function conversationIds(table: Table, live: readonly LiveTurns[]): Promise<string[]> {
  const ids = live.map(async ({ state }) => [...(await readPreviousIds(table, state)), state.sessionId]);
  return (await Promise.all(ids)).flat();
}

/** Skips archived messages: during a compaction or reset, messages are archived and still live. */
function indexLive(
  live: readonly LiveTurns[],
  archived: readonly TurnIndex[],
  scope: RecallScope,
): TurnIndex {
  const index = createTurnIndex(scope.timezone);
  for (const { state, origins, turns } of live) {
    const { sessionKey, sessionId } = state;
    const asked = turns.findLastIndex(({ role }) => role === "user");
    const isAsking = scope.withoutNewest === true && sessionKey === scope.sessionKey && asked >= 0;
    const isLive = ({ n }: Turn) => !archived.some((one) => one.has(sessionId, n));
    const wanted = (isAsking ? turns.slice(0, asked) : turns).filter(isLive);
    index.add({ sessionKey, sessionId, origins }, wanted);
  }
  return index;
}

/** Maximum number of an agent's other live conversations to search: the most recently active ones. */
const maxSessions = 20;

/** Number of most recent sessions of all agents among which they are found. */
const maxListed = 200;

/** The turns of a live conversation. */
interface LiveTurns {
  state: SessionState;
  /** Whose words it contains, besides the owner's. */
  origins: string[];
  turns: Turn[];
}

/** The most recently active sessions of an agent. */
export async function liveSessionKeys(table: Table, agentId: string): Promise<string[]> {
  const sessions = await listSessions(table, 0, maxListed);
  return sessions
    .map(({ sessionKey }) => sessionKey)
    .filter((key) => agentIdOf(key) === agentId)
    .slice(0, maxSessions);
}

/** Undefined when there is no such session, or its conversation is private. */
async function readLiveTurns(
  store: { table: Table; bucket: Bucket },
  sessionKey: string,
): Promise<LiveTurns | undefined> {
  const state = await readSession(store.table, sessionKey);
  if (!state || state.private) return undefined;
  const messages = await readMessages(store, state);
  return { state, origins: originsOfSession(state, messages), turns: turnsOf(messages) };
}
