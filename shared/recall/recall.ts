import type { Bucket, Table } from "../world/world.ts";
import { beginning, densestPlace, type Preview, partAround } from "./preview.ts";
import { questionTerms, type RankedTurn, rankTurns } from "./ranking.ts";
import type { Turn } from "./segment.ts";
import { deleteSegment, writeSegment } from "./segment-files.ts";
import type { IndexedTurn } from "./turn-index.ts";
import type { FindEmbedder } from "./vectors/embedder.ts";
import { createNearTurns } from "./vectors/near-turns.ts";
import { createSaidTurns, type RecallScope, type SaidTurns } from "./visible-turns.ts";
import { plainText } from "./words/words.ts";

/** Looks into everything that was said to and by an agent. Keep one while a function is warm: it keeps what it has read. */
export interface Recall {
  /** Finds what was said about something: see `findTurns`. `preview`: characters of a message that are shown. */
  search(
    scope: RecallScope,
    request: { question: string; limit: number; preview: number },
  ): Promise<Waiting & { found: FoundTurn[] }>;
  /** The conversations in which something was said, the latest first. */
  conversations(scope: RecallScope): Promise<Waiting & { conversations: Conversation[] }>;
  /** Reads a conversation, without what an archive that waits holds. Undefined when there is none in this scope. */
  read(scope: RecallScope, request: ReadRequest): Promise<ReadPart | undefined>;
  /** Makes an archive searchable. Safe to repeat; a search makes up for one that was left out. */
  keep(archiveKey: string): Promise<void>;
  /** Forgets an archive that is about to be deleted. */
  drop(archiveKey: string): Promise<void>;
}

/** Archives that could not be looked into yet. Asking again goes on with them. */
export interface Waiting {
  waiting: number;
}

/** @param findEmbedder what makes vectors, by which a search also finds what says the same in other words */
export function openRecall(
  store: { table: Table; bucket: Bucket },
  findEmbedder: FindEmbedder = async () => undefined,
): Recall {
  const open = createSaidTurns(store);
  const near = createNearTurns(store.bucket, findEmbedder);
  return {
    async search(scope, { question, limit, preview }) {
      const [said, asked] = await Promise.all([open(scope), near.ask(question)]);
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

/** A conversation in which something was said. */
interface Conversation {
  sessionId: string;
  sessionKey: string;
  /** Messages that have a text. */
  count: number;
  /** When the first and the last of them was said, epoch ms. */
  firstAt: number;
  lastAt: number;
}

/** The latest first. */
function conversationsOf({ indexes }: Pick<SaidTurns, "indexes">): Conversation[] {
  return [...group(indexes).values()].map(summary).sort((a, b) => b.lastAt - a.lastAt);
}

/** Which part of a conversation to read. */
interface ReadRequest {
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
interface ReadPart {
  conversation: Conversation;
  /** In order. */
  entries: { turn: Turn; preview: Preview }[];
  /** Whether there are messages behind these, or with `newest` before them. */
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
  let [firstAt, lastAt] = [Number.POSITIVE_INFINITY, 0];
  for (const { ts } of turns) [firstAt, lastAt] = [Math.min(firstAt, ts), Math.max(lastAt, ts)];
  return { sessionId, sessionKey, count: turns.length, firstAt, lastAt };
}

/** A message that answers a search, with the part of it that fits best. */
interface FoundTurn extends RankedTurn {
  preview: Preview;
}

/**
 * Finds what was said about something. The question may be words or a sentence; a part of a word is found only when no word
 * is.
 * @param most characters of a preview
 * @param nearest turns that mean the same in other words, the nearest first; with them the score is that of both orders
 * @returns the best first, at most `limit`
 */
function findTurns(
  { indexes }: Pick<SaidTurns, "indexes">,
  question: string,
  limit: number,
  most: number,
  nearest: readonly IndexedTurn[] = [],
): FoundTurn[] {
  const depth = nearest.length > 0 ? Math.max(limit, nearest.length) : limit;
  const ranked = rankTurns(indexes, question, depth);
  const byWords = ranked.length > 0 ? ranked : turnsWith(indexes, question, depth);
  const found = nearest.length > 0 ? fuse(byWords, nearest) : byWords;
  const terms = new Set(questionTerms(question));
  return found.slice(0, limit).map((one) => {
    const { text } = one.turn;
    const place = ranked.length > 0 ? densestPlace(text, terms, most) : placeOfText(one.turn, question);
    return { ...one, preview: partAround(text, Math.max(0, place), most) };
  });
}

/** The turns that hold a text as it is, the newest first. */
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

/** How much less the first places of an order count: the larger, the more it matters to be in both. */
const evenness = 60;

/**
 * One order of two, by reciprocal rank fusion: a turn's score is the sum of what its places give, 1 for the first of an
 * order and less for each after it. How the two orders score does not matter.
 * @returns the best first; of equal ones the newest
 */
function fuse(byWords: readonly RankedTurn[], nearest: readonly IndexedTurn[]): RankedTurn[] {
  const scores = new Map<IndexedTurn, number>();
  for (const order of [byWords.map(({ turn }) => turn), nearest])
    for (const [place, turn] of order.entries())
      scores.set(turn, (scores.get(turn) ?? 0) + (evenness + 1) / (evenness + 1 + place));
  return [...scores]
    .map(([turn, score]) => ({ turn, score }))
    .sort((a, b) => b.score - a.score || b.turn.ts - a.turn.ts);
}
