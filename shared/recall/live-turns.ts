import { agentIdOf } from "../session/key/session-key.ts";
import { listSessions, readSession } from "../session/sessions.ts";
import type { SessionState } from "../session/state.ts";
import { readMessages } from "../session/transcript.ts";
import { originsOfSession } from "../session/words-read.ts";
import type { Bucket, Table } from "../world/world.ts";
import type { Turn } from "./segment.ts";
import { turnsOf } from "./turns-of.ts";

/** Maximum number of an agent's other live conversations to search: the most recently active ones. */
const maxSessions = 20;

/** Number of most recent sessions of all agents among which they are found. */
const maxListed = 200;

/** The turns of a live conversation. */
export interface LiveTurns {
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
export async function readLiveTurns(
  store: { table: Table; bucket: Bucket },
  sessionKey: string,
): Promise<LiveTurns | undefined> {
  const state = await readSession(store.table, sessionKey);
  if (!state || state.private) return undefined;
  const messages = await readMessages(store, state);
  return { state, origins: originsOfSession(state, messages), turns: turnsOf(messages) };
}
