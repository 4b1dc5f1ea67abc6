import { joinOrigins } from "../origins/origins.ts";
import type { Bucket, Table } from "../world/world.ts";
import { addArchives, archiveName, createArchivedTurns, removeArchives } from "./archived-turns.ts";
import { densestPlace, type Preview, partAround } from "./preview.ts";
import { firstTime, questionTerms, type RankedTurn, rankTurns } from "./ranking.ts";
import type { Turn } from "./segment.ts";
import { createSegments } from "./segments.ts";
import type { IndexedTurn, TurnIndex } from "./turn-index.ts";
import { createSaidTurns, type RecallScope, type SaidTurns } from "./visible-turns.ts";
import { plainText } from "./words.ts";

/** Searches all conversations of an agent. Create one per warm function: it caches what it has read. */
export interface Recall {
  /** Finds messages about a question: see `rank`. `preview`: maximum characters of each message. */
  search(
    scope: RecallScope,
    request: { question: string; limit: number; preview: number },
  ): Promise<Waiting & { found: FoundTurn[] }>;
  /** Ranks messages by several questions. */
  find(scope: RecallScope, request: FindRequest): Promise<Waiting & Ranked>;
  /** The turns of all archived conversations of an agent. */
  archived(agentId: string, timezone: string): Promise<readonly TurnIndex[]>;
  /** The conversations with at least one turn, the latest first. */
  conversations(scope: RecallScope): Promise<Waiting & { conversations: Conversation[] }>;
  /** Reads a conversation, without archives that are not searchable yet. Undefined when the scope does not contain it. */
  read(scope: RecallScope, request: ReadRequest): Promise<ReadPart | undefined>;
  /** Makes an archive searchable. Safe to repeat; a search does it for archives that were missed. */
  keep(archiveKey: string): Promise<void>;
  /** Removes an archive that is about to be deleted from search. */
  drop(archiveKey: string): Promise<void>;
}

/** Number of archives that are not searchable yet. Repeating the request continues with them. */
export interface Waiting {
  waiting: number;
}

export function openRecall(
  store: { table: Table; bucket: Bucket },
  segments = createSegments(store.bucket),
): Recall {
  const archived = createArchivedTurns(store.bucket, segments);
  const open = createSaidTurns(store, segments, archived);
  const find: Recall["find"] = async (scope, { questions, limit, isWanted }) => {
    const said = await open(scope);
    const isFound = (turn: IndexedTurn) => said.isSeen(turn) && isWanted?.(turn) !== false;
    const orders = questions.map((question) => rank(said, question, limit, isFound));
    return { orders, around: (turn) => around(said, turn), waiting: said.waiting };
  };
  return {
    async search(scope, { question, limit, preview }) {
      const { orders, waiting } = await find(scope, { questions: [question], limit });
      return { found: (orders[0] ?? []).map((one) => withPreview(one, question, preview)), waiting };
    },
    find,
    archived: async (agentId, timezone) => (await archived(agentId, timezone)).indexes,
    async conversations(scope) {
      const said = await open(scope);
      const conversations = [...group(said).values()].map(summary).sort((a, b) => b.lastAt - a.lastAt);
      return { conversations, waiting: said.waiting };
    },
    async read(scope, request) {
      return readConversation(await open(scope), request);
    },
    async keep(archiveKey) {
      await addArchives(store.bucket, segments, agentOfKey(archiveKey), [archiveKey]);
    },
    async drop(archiveKey) {
      await removeArchives(
        segments,
        agentOfKey(archiveKey),
        ({ archive }) => archive === archiveName(archiveKey),
      );
    },
  };
}

/** A conversation with at least one turn. */
interface Conversation {
  sessionId: string;
  sessionKey: string;
  /** Number of messages with a text. */
  count: number;
  /** Whose words it contains, besides the owner's. */
  origins: string[];
  /** Times of the first and the last of them, epoch ms. */
  firstAt: number;
  lastAt: number;
}

/** Which part of a conversation to read. */
interface ReadRequest {
  /** The id of a conversation, or the session key of a live one. */
  name: string;
  /** Maximum number of messages: the first ones starting with message `from`, or with `newest` the last ones. */
  limit: number;
  from?: number;
  newest?: boolean;
  /** Maximum characters of each message. */
  preview: number;
}

/** A part of a conversation. */
interface ReadPart {
  conversation: Conversation;
  /** In order. */
  entries: { turn: Turn; preview: Preview }[];
  /** Whether there are messages after these, or with `newest` before them. */
  truncated: boolean;
}

/** Undefined when there is no such conversation. */
function readConversation(said: SaidTurns, request: ReadRequest): ReadPart | undefined {
  const { name, limit, from = 1, newest = false, preview } = request;
  const turns = group(said).get(said.live.get(name) ?? name);
  if (!turns) return undefined;
  const wanted = turns.filter(({ n }) => n >= from).sort((a, b) => a.n - b.n);
  const shown = newest ? wanted.slice(-limit) : wanted.slice(0, limit);
  return {
    conversation: summary(turns),
    entries: shown.map((turn) => ({ turn, preview: partAround(turn.text, 0, preview) })),
    truncated: wanted.length > shown.length,
  };
}

function group({ indexes, isSeen }: SaidTurns): Map<string, IndexedTurn[]> {
  const groups = new Map<string, IndexedTurn[]>();
  for (const turn of indexes.flatMap(({ turns }) => turns.filter(isSeen)).filter(firstTime())) {
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
  const origins = joinOrigins(...new Set(turns.map(({ conversation }) => conversation.origins)));
  let [firstAt, lastAt] = [Number.POSITIVE_INFINITY, 0];
  for (const { ts } of turns) [firstAt, lastAt] = [Math.min(firstAt, ts), Math.max(lastAt, ts)];
  return { sessionId, sessionKey, count: turns.length, firstAt, lastAt, origins };
}

/** A message that matches a search, with the part that matches best. */
interface FoundTurn extends RankedTurn {
  preview: Preview;
}

/** Which messages to find. `isWanted`: other messages are not found; absent: all are. */
interface FindRequest {
  questions: readonly string[];
  limit: number;
  isWanted?: (turn: IndexedTurn) => boolean;
}

/** The messages for each question, best first, and the messages around one: before it, itself, after it. */
interface Ranked {
  orders: RankedTurn[][];
  around(turn: IndexedTurn): IndexedTurn[];
}

/**
 * Ranks the messages about a question, which may be words or a sentence. Parts of words match only when no whole word does.
 * @returns at most `limit`, best first
 */
function rank(
  { indexes }: Pick<SaidTurns, "indexes">,
  question: string,
  limit: number,
  isWanted: (turn: IndexedTurn) => boolean,
): RankedTurn[] {
  const ranked = rankTurns(indexes, question, limit, isWanted);
  return ranked.length > 0 ? ranked : turnsWith(indexes, question, limit, isWanted);
}

function withPreview(one: RankedTurn, question: string, max: number): FoundTurn {
  const { text } = one.turn;
  const isPart = one.score === 0;
  const place = isPart
    ? placeOfText(one.turn, question)
    : densestPlace(text, new Set(questionTerms(question)), max);
  return { ...one, preview: partAround(text, Math.max(0, place), max) };
}

/** The neighbours of a turn in its conversation, and itself. */
function around({ indexes }: Pick<SaidTurns, "indexes">, turn: IndexedTurn): IndexedTurn[] {
  const { sessionId } = turn.conversation;
  const all = indexes.flatMap(({ turns }) => turns.filter((one) => one.conversation.sessionId === sessionId));
  const ordered = all.filter(firstTime()).sort((a, b) => a.n - b.n);
  const place = ordered.findIndex(({ n }) => n === turn.n);
  return ordered.slice(Math.max(0, place - 1), place + 2);
}

/** The turns that contain a text literally, newest first. */
function turnsWith(
  indexes: SaidTurns["indexes"],
  text: string,
  limit: number,
  isWanted: (turn: IndexedTurn) => boolean,
): RankedTurn[] {
  if (plainText(text.trim()) === "") return [];
  return indexes
    .flatMap(({ turns }) => turns.filter((turn) => isWanted(turn) && placeOfText(turn, text) >= 0))
    .filter(firstTime())
    .sort((a, b) => b.ts - a.ts)
    .slice(0, limit)
    .map((turn) => ({ turn, score: 0, share: 1 }));
}

function placeOfText(turn: IndexedTurn, text: string): number {
  return plainText(turn.text).indexOf(plainText(text.trim()));
}

const agentOfKey = (archiveKey: string): string => archiveKey.split("/")[1] ?? "";
