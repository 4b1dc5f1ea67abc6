import { agentIdOf } from "../session/key/session-key.ts";
import { listSessions, readSession } from "../session/sessions.ts";
import type { SessionState } from "../session/state.ts";
import { readMessages } from "../session/transcript.ts";
import type { Bucket, Table } from "../world/world.ts";
import type { Turn } from "./segment.ts";
import { turnsOf } from "./turns-of.ts";

/** Live conversations of an agent that are searched besides the one that asks: those that were last active. */
const maxSessions = 20;

/** Sessions of all agents among which they are looked for. */
const maxListed = 200;

/** What is said in a conversation that goes on. */
export interface LiveTurns {
  state: SessionState;
  turns: Turn[];
}

/** The sessions of an agent that were active last. */
export async function liveSessionKeys(table: Table, agentId: string): Promise<string[]> {
  const sessions = await listSessions(table, 0, maxListed);
  return sessions
    .map(({ sessionKey }) => sessionKey)
    .filter((key) => agentIdOf(key) === agentId)
    .slice(0, maxSessions);
}

/** Undefined when there is no such session. */
export async function readLiveTurns(
  store: { table: Table; bucket: Bucket },
  sessionKey: string,
): Promise<LiveTurns | undefined> {
  const state = await readSession(store.table, sessionKey);
  if (!state) return undefined;
  return { state, turns: turnsOf(await readMessages(store, state)) };
}
