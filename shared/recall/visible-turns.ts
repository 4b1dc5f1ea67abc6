import { readPreviousIds } from "../session/previous-ids.ts";
import type { Bucket, ListedObject, Table } from "../world/world.ts";
import { createArchivedTurns } from "./archived-turns.ts";
import { type LiveTurns, liveSessionKeys, readLiveTurns } from "./live-turns.ts";
import { createTurnIndex, type TurnIndex } from "./turn-index.ts";

/** Whose conversations may be looked into. */
export interface RecallScope {
  agentId: string;
  /** The conversation that asks, or the only one: canonical. Absent with `all` for a client. */
  sessionKey?: string;
  /** All conversations of the agent; otherwise those of `sessionKey` alone, its earlier ones included. */
  all: boolean;
  /** Decides the day of a message: IANA name. */
  timezone: string;
  /** Leaves out what was said in `sessionKey` since its user's newest message: the question itself. */
  withoutNewest?: boolean;
}

/** What was said, as far as the scope goes. */
export interface SaidTurns {
  agentId: string;
  /** Archived conversations, then those that go on. Do not add to them. */
  indexes: readonly [archived: TurnIndex, live: TurnIndex];
  /** The objects of the archived conversations' segments. */
  segments: readonly ListedObject[];
  /** The sessions that go on, by their key: the id of each one's conversation. */
  live: ReadonlyMap<string, string>;
  /** Archives that could not be looked into yet. Looking again goes on with them. */
  waiting: number;
}

/** Reads what was said. What archives hold is kept while a function is warm. */
export function createSaidTurns(store: {
  table: Table;
  bucket: Bucket;
}): (scope: RecallScope) => Promise<SaidTurns> {
  const archived = createArchivedTurns(store.bucket);
  return async (scope) => {
    const { agentId, sessionKey, all, timezone } = scope;
    const own = sessionKey === undefined ? [] : [sessionKey];
    const keys = all ? new Set([...own, ...(await liveSessionKeys(store.table, agentId))]) : own;
    // Archives are listed after the sessions are read: what a session holds no more is in one of them.
    const read = await Promise.all([...keys].map((key) => readLiveTurns(store, key)));
    const live = read.filter((one) => one !== undefined);
    const ofSessions = all ? {} : { sessionIds: await conversationIds(store.table, live) };
    const { index, segments, waiting } = await archived({
      agentId,
      timezone,
      ...ofSessions,
    });
    return {
      agentId,
      indexes: [index, indexLive(live, index, scope)],
      segments,
      live: new Map(live.map(({ state }) => [state.sessionKey, state.sessionId])),
      waiting,
    };
  };
}

/** The ids of every conversation that sessions hold or have held. */
async function conversationIds(table: Table, live: readonly LiveTurns[]): Promise<string[]> {
  const ids = live.map(async ({ state }) => [...(await readPreviousIds(table, state)), state.sessionId]);
  return (await Promise.all(ids)).flat();
}

/** A compaction or a reset that is going on has archived messages that are live as well. */
function indexLive(live: readonly LiveTurns[], archived: TurnIndex, scope: RecallScope): TurnIndex {
  const index = createTurnIndex(scope.timezone);
  for (const { state, turns } of live) {
    const { sessionKey, sessionId } = state;
    const asked = turns.findLastIndex(({ role }) => role === "user");
    const isAsking = scope.withoutNewest === true && sessionKey === scope.sessionKey && asked >= 0;
    const wanted = (isAsking ? turns.slice(0, asked) : turns).filter(({ n }) => !archived.has(sessionId, n));
    index.add({ sessionKey, sessionId }, wanted);
  }
  return index;
}
