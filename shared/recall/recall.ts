import { joinOrigins } from "../origins/origins.ts";
import type { Bucket, Table } from "../world/world.ts";
import { beginning, densestPlace, type Preview, partAround } from "./preview.ts";
import { questionTerms, type RankedTurn, rankTurns } from "./ranking.ts";
import type { Turn } from "./segment.ts";
import { deleteSegment, writeSegment } from "./segment-files.ts";
import type { IndexedTurn } from "./turn-index.ts";
import type { FindEmbedder } from "./vectors/embedder.ts";
import { createNearTurns } from "./vectors/near-turns.ts";
import { createSaidTurns, type RecallScope, type SaidTurns } from "./visible-turns.ts";
import { plainText } from "./words.ts";

/** Searches all conversations of an agent. Create one per warm function: it caches what it has read. */
export interface Recall {
  /** Finds messages about a question: see `findTurns`. `preview`: maximum characters of each message. */
  search(
    scope: RecallScope,
    request: { question: string; limit: number; preview: number },
  ): Promise<Waiting & { found: FoundTurn[] }>;
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
  return {
    async search(scope, { question, limit, preview }) {
      const [said, asked] = await Promise.all([open(scope), near.ask(scope.agentId, question)]);
      const nearest = asked ? await near.find(asked, said) : [];
      return { found: findTurns(said, question, limit, preview, nearest), waiting: said.waiting };
    },
    async conversations(scope) {
      const said = await open(scope);
      return { conversations: conversationsOf(said), waiting: said.waiting };
    },
    async read(scope, request) {
      return readConversation(await open(scope), request);
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
function conversationsOf({ indexes }: Pick<SaidTurns, "indexes">): Conversation[] {
  return [...group(indexes).values()].map(summary).sort((a, b) => b.lastAt - a.lastAt);
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
function readConversation({ indexes, live }: SaidTurns, request: ReadRequest): ReadPart | undefined {
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
  const origins = joinOrigins(...new Set(turns.map(({ conversation }) => conversation.origins)));
  let [firstAt, lastAt] = [Number.POSITIVE_INFINITY, 0];
  for (const { ts } of turns) [firstAt, lastAt] = [Math.min(firstAt, ts), Math.max(lastAt, ts)];
  return { sessionId, sessionKey, count: turns.length, firstAt, lastAt, origins };
}

/** A message that matches a search, with the part that matches best. */
interface FoundTurn extends RankedTurn {
  preview: Preview;
}

/**
 * Finds messages about a question, which may be words or a sentence. Parts of words match only when no whole word does.
 * @param maxPreview maximum characters of a preview
 * @param nearest turns with a similar meaning, nearest first; with them the score combines both orders
 * @returns at most `limit`, best first
 */
function findTurns(
  { indexes }: Pick<SaidTurns, "indexes">,
  question: string,
  limit: number,
  maxPreview: number,
  nearest: readonly IndexedTurn[] = [],
): FoundTurn[] {
  const depth = nearest.length > 0 ? Math.max(limit, nearest.length) : limit;
  const ranked = rankTurns(indexes, question, depth);
  const byWords = ranked.length > 0 ? ranked : turnsWith(indexes, question, depth);
  const found = nearest.length > 0 ? fuse(byWords, nearest) : byWords;
  const terms = new Set(questionTerms(question));
  return found.slice(0, limit).map((one) => {
    const { text } = one.turn;
    const place = ranked.length > 0 ? densestPlace(text, terms, maxPreview) : placeOfText(one.turn, question);
    return { ...one, preview: partAround(text, Math.max(0, place), maxPreview) };
  });
}

/** The turns that contain a text literally, newest first. */
function turnsWith(indexes: SaidTurns["indexes"], text: string, limit: number): RankedTurn[] {
  if (plainText(text.trim()) === "") return [];
  return indexes
    .flatMap(({ turns }) => turns.filter((turn) => placeOfText(turn, text) >= 0))
    .sort((a, b) => b.ts - a.ts)
    .slice(0, limit)
    .map((turn) => ({ turn, score: 0 }));
}

function placeOfText(turn: IndexedTurn, text: string): number {
  return plainText(turn.text).indexOf(plainText(text.trim()));
}

/** The constant of reciprocal rank fusion: the larger, the more it matters to be in both orders. */
const fusionConstant = 60;

/**
 * Combines two orders by reciprocal rank fusion: each order adds to a turn's score, 1 for its first place and less for each
 * later one. The scores inside the orders do not matter.
 * @returns best first; equal scores newest first
 */
function fuse(byWords: readonly RankedTurn[], nearest: readonly IndexedTurn[]): RankedTurn[] {
  const scores = new Map<IndexedTurn, number>();
  for (const order of [byWords.map(({ turn }) => turn), nearest])
    for (const [place, turn] of order.entries())
      scores.set(turn, (scores.get(turn) ?? 0) + (fusionConstant + 1) / (fusionConstant + 1 + place));
  return [...scores]
    .map(([turn, score]) => ({ turn, score }))
    .sort((a, b) => b.score - a.score || b.turn.ts - a.turn.ts);
}
