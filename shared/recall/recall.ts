import { joinOrigins } from "../origins/origins.ts";
import type { Bucket, Table } from "../world/world.ts";
import { fuseRanks } from "./fusion.ts";
import { beginning, densestPlace, type Preview, partAround } from "./preview.ts";
import { questionTerms, type RankedTurn, rankTurns } from "./ranking.ts";
import type { Turn } from "./segment.ts";
import { deleteSegment, writeSegment } from "./segment-files.ts";
import type { IndexedTurn } from "./turn-index.ts";
import type { FindEmbedder } from "./vectors/embedder.ts";
import { createNearTurns } from "./vectors/near-turns.ts";
import { createSaidTurns, isSeen, type RecallScope, type SaidTurns } from "./visible-turns.ts";
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

/** @param findEmbedder computes vectors, with which a search also finds messages of similar meaning in other words */
export function openRecall(
  store: { table: Table; bucket: Bucket },
  findEmbedder: FindEmbedder = async () => undefined,
): Recall {
  const open = createSaidTurns(store);
  const near = createNearTurns(store.bucket, findEmbedder);
  const find: Recall["find"] = async (scope, { questions, limit, isWanted }) => {
    const [said, asked] = await Promise.all([
      open(scope),
      Promise.all(questions.map((one) => near.ask(scope.agentId, one))),
    ]);
    const orders = questions.map(async (question, i) => {
      const about = asked[i];
      const nearest = about ? await near.find(about, said) : [];
      return rank(
        said,
        question,
        limit,
        (turn) => isSeen(scope, turn) && isWanted?.(turn) !== false,
        nearest,
      );
    });
    return { orders: await Promise.all(orders), around: (turn) => around(said, turn), waiting: said.waiting };
  };
  return {
    async search(scope, { question, limit, preview }) {
      const { orders, waiting } = await find(scope, { questions: [question], limit });
      return { found: (orders[0] ?? []).map((one) => withPreview(one, question, preview)), waiting };
    },
    find,
    async conversations(scope) {
      const said = await open(scope);
      return { conversations: conversationsOf(said, scope), waiting: said.waiting };
    },
    async read(scope, request) {
      return readConversation(await open(scope), scope, request);
    },
    async keep(archiveKey) {
      await writeSegment(store.bucket, archiveKey);
      await near.keep(archiveKey);
    },
    drop: (archiveKey) => deleteSegment(store.bucket, archiveKey),
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

/** The latest first. */
function conversationsOf({ indexes }: Pick<SaidTurns, "indexes">, scope: RecallScope): Conversation[] {
  return [...group(indexes, scope).values()].map(summary).sort((a, b) => b.lastAt - a.lastAt);
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
function readConversation(
  { indexes, live }: SaidTurns,
  scope: RecallScope,
  request: ReadRequest,
): ReadPart | undefined {
  const { name, limit, from = 1, newest = false, preview } = request;
  const turns = group(indexes, scope).get(live.get(name) ?? name);
  if (!turns) return undefined;
  const wanted = turns.filter(({ n }) => n >= from).sort((a, b) => a.n - b.n);
  const shown = newest ? wanted.slice(-limit) : wanted.slice(0, limit);
  return {
    conversation: summary(turns),
    entries: shown.map((turn) => ({ turn, preview: beginning(turn.text, preview) })),
    truncated: wanted.length > shown.length,
  };
}

function group(indexes: SaidTurns["indexes"], scope: RecallScope): Map<string, IndexedTurn[]> {
  const groups = new Map<string, IndexedTurn[]>();
  for (const { turns } of indexes)
    for (const turn of turns) {
      if (!isSeen(scope, turn)) continue;
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
 * @param nearest turns with a similar meaning, nearest first; with them the score combines both orders
 * @returns at most `limit`, best first
 */
function rank(
  { indexes }: Pick<SaidTurns, "indexes">,
  question: string,
  limit: number,
  isWanted: (turn: IndexedTurn) => boolean,
  nearest: readonly IndexedTurn[],
): RankedTurn[] {
  const meant = nearest.filter(isWanted);
  const depth = Math.max(limit, meant.length);
  const ranked = rankTurns(indexes, question, depth, isWanted);
  const byWords = ranked.length > 0 ? ranked : turnsWith(indexes, question, depth, isWanted);
  return (meant.length > 0 ? fuse(byWords, meant) : byWords).slice(0, limit);
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
  const ordered = all.sort((a, b) => a.n - b.n);
  const place = ordered.indexOf(turn);
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
    .sort((a, b) => b.ts - a.ts)
    .slice(0, limit)
    .map((turn) => ({ turn, score: 0, share: 1 }));
}

function placeOfText(turn: IndexedTurn, text: string): number {
  return plainText(turn.text).indexOf(plainText(text.trim()));
}

/** Nearest turns that count as an answer, whatever their words. */
const surelyNear = 5;

/** Combines the order by words with that by meaning. */
function fuse(byWords: readonly RankedTurn[], nearest: readonly IndexedTurn[]): RankedTurn[] {
  const shares = new Map(nearest.map((turn, place) => [turn, place < surelyNear ? 1 : 0]));
  for (const { turn, share } of byWords) shares.set(turn, Math.max(share, shares.get(turn) ?? 0));
  return fuseRanks([byWords.map(({ turn }) => turn), nearest], (turn) => turn)
    .map(({ one: turn, score }) => ({ turn, score, share: shares.get(turn) ?? 0 }))
    .sort((a, b) => b.score - a.score || b.turn.ts - a.turn.ts);
}
