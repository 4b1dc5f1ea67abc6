import { beginning, type Preview } from "./preview.ts";
import type { SaidTurns } from "./said-turns.ts";
import type { Turn } from "./segment.ts";
import type { IndexedTurn } from "./turn-index.ts";

/** A conversation in which something was said. */
export interface Conversation {
  sessionId: string;
  sessionKey: string;
  /** Messages that have a text. */
  count: number;
  /** When the first and the last of them was said, epoch ms. */
  firstAt: number;
  lastAt: number;
}

/** The latest first. */
export function conversationsOf({ indexes }: Pick<SaidTurns, "indexes">): Conversation[] {
  return [...group(indexes).values()].map(summary).sort((a, b) => b.lastAt - a.lastAt);
}

/** Which part of a conversation to read. */
export interface ReadRequest {
  /** The id of a conversation, or the session key of one that goes on. */
  name: string;
  /** Most messages: the first ones from message number `from` on, or with `newest` the last ones. */
  limit: number;
  from?: number;
  newest?: boolean;
  /** Characters of a message that are shown. */
  preview: number;
}

/** A part of a conversation. */
export interface ReadPart {
  conversation: Conversation;
  /** In order. */
  entries: { turn: Turn; preview: Preview }[];
  /** Whether there are messages behind these, or with `newest` before them. */
  truncated: boolean;
}

/** Undefined when there is no such conversation. */
export function readConversation({ indexes, live }: SaidTurns, request: ReadRequest): ReadPart | undefined {
  const { name, limit, from = 1, newest = false, preview } = request;
  const turns = group(indexes).get(live.get(name) ?? name);
  if (!turns) return undefined;
  const wanted = turns.filter(({ n }) => n >= from).sort((a, b) => a.n - b.n);
  const shown = newest ? wanted.slice(-limit) : wanted.slice(0, limit);
  return {
    conversation: summary(turns),
    entries: shown.map((turn) => ({ turn, preview: beginning(turn.text, preview) })),
    truncated: wanted.length > shown.length,
  };
}

function group(indexes: SaidTurns["indexes"]): Map<string, IndexedTurn[]> {
  const groups = new Map<string, IndexedTurn[]>();
  for (const { turns } of indexes)
    for (const turn of turns) {
      const { sessionId } = turn.conversation;
      const known = groups.get(sessionId);
      if (known) known.push(turn);
      else groups.set(sessionId, [turn]);
    }
  return groups;
}

/** @param turns at least one */
function summary(turns: readonly IndexedTurn[]): Conversation {
  const { sessionId, sessionKey } = (turns[0] as IndexedTurn).conversation;
  let [firstAt, lastAt] = [Number.POSITIVE_INFINITY, 0];
  for (const { ts } of turns) [firstAt, lastAt] = [Math.min(firstAt, ts), Math.max(lastAt, ts)];
  return { sessionId, sessionKey, count: turns.length, firstAt, lastAt };
}
