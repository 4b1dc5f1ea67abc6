import { LRUCache } from "lru-cache";
import { logError } from "../../runtime/log.ts";
import type { Bucket, ListedObject } from "../../world/world.ts";
import { segmentPieces, sessionIdOfSegment } from "../segment-files.ts";
import type { IndexedTurn, TurnIndex } from "../turn-index.ts";
import type { SaidTurns } from "../visible-turns.ts";
import type { Embedder, FindEmbedder } from "./embedder.ts";
import { type Allowance, embedTurns, isMeant, makeVectors, usualAllowance } from "./make-vectors.ts";
import { readVectors, type SegmentVectors, vectorsKey, vectorsPrefix } from "./vector-files.ts";

/** Maximum memory for cached vectors in a warm function, in bytes: enough for 100,000 messages. */
const maxBytes = 25_000_000;

/** Number of newest messages of live conversations that get a vector, which a warm function caches. */
const maxLive = 64;

const readsAtOnce = 20;

/** A search stops computing vectors after this many segments failed. */
const maxFailures = 2;

/** A question's vector and the embedder that computed it. */
export interface AskedQuestion {
  embedder: Embedder;
  vector: Int8Array;
}

/** Finds turns with a meaning similar to a question's, in any words. Create one per warm function: it caches. */
export interface NearTurns {
  /** Undefined when there is no embedder. Does not throw. */
  ask(agentId: string, question: string): Promise<AskedQuestion | undefined>;
  /** The nearest turns, nearest first. Computes some of the missing vectors. Does not throw. */
  find(asked: AskedQuestion, said: SaidTurns): Promise<IndexedTurn[]>;
  /** Computes the vectors of an archive whose segment was written. Does not throw; a later search computes missing ones. */
  keep(archiveKey: string): Promise<void>;
}

interface State {
  bucket: Bucket;
  findEmbedder: FindEmbedder;
  /** By key and ETag. */
  kept: LRUCache<string, SegmentVectors>;
  /** By embedder, conversation and message number. */
  live: LRUCache<string, Int8Array>;
  /** Segments whose vectors could not be computed: they are tried after the others. */
  failed: Set<string>;
}

export function createNearTurns(bucket: Bucket, findEmbedder: FindEmbedder): NearTurns {
  const kept = new LRUCache<string, SegmentVectors>({
    maxSize: maxBytes,
    sizeCalculation: ({ numbers, turns }) => numbers.length + 8 * turns.length + 200,
  });
  const live = new LRUCache<string, Int8Array>({ max: 2 * maxLive });
  const state: State = { bucket, findEmbedder, kept, live, failed: new Set() };
  return {
    ask: (agentId, question) => silently(() => ask(state, agentId, question)),
    find: async (asked, said) => (await silently(() => find(state, asked, said))) ?? [],
    keep: (archiveKey) => silently(() => keep(state, archiveKey)),
  };
}

/** Logs an error instead of throwing it: a search, a reset and a compaction also work without vectors. */
async function silently<T>(run: () => Promise<T>): Promise<T | undefined> {
  try {
    return await run();
  } catch (error) {
    logError("recall.vectors", error);
    return undefined;
  }
}

async function ask(
  { findEmbedder }: State,
  agentId: string,
  question: string,
): Promise<AskedQuestion | undefined> {
  const embedder = await findEmbedder(agentId);
  const [vector] = (await embedder?.embed([question], "question")) ?? [];
  await embedder?.settle();
  return embedder && vector && { embedder, vector };
}

async function find(
  state: State,
  { embedder, vector }: AskedQuestion,
  said: SaidTurns,
): Promise<IndexedTurn[]> {
  const allowance = usualAllowance();
  const live = await liveVectors(state, embedder, said, allowance);
  const archived = await archivedVectors(state, embedder, said, allowance);
  await embedder.settle();
  return nearestTurns(vector, [...archived, ...live], said.indexes);
}

async function keep({ bucket, findEmbedder }: State, archiveKey: string): Promise<void> {
  const embedder = await findEmbedder(archiveKey.split("/")[1] ?? "");
  if (!embedder) return;
  const allowance = usualAllowance();
  for (const piece of await segmentPieces(bucket, archiveKey))
    await makeVectors(bucket, embedder, piece, allowance);
  await embedder.settle();
}

async function liveVectors(
  { live }: State,
  embedder: Embedder,
  { indexes: [, index] }: SaidTurns,
  allowance: Allowance,
): Promise<TurnVectors[]> {
  const turns = index.turns
    .filter(isMeant)
    .sort((a, b) => b.ts - a.ts)
    .slice(0, maxLive);
  const nameOf = ({ conversation, n }: IndexedTurn) => `${embedder.name} ${conversation.sessionId} ${n}`;
  const lacking = turns.filter((turn) => !live.has(nameOf(turn)));
  const made = await embedTurns(embedder, lacking, allowance);
  for (const [i, numbers] of made.entries()) live.set(nameOf(lacking[i] as IndexedTurn), numbers);
  return turns.flatMap((turn) => {
    const numbers = live.get(nameOf(turn));
    const { sessionId } = turn.conversation;
    return numbers ? [{ sessionId, turns: [turn.n], dimensions: numbers.length, numbers }] : [];
  });
}

async function archivedVectors(
  state: State,
  embedder: Embedder,
  { agentId, segments }: SaidTurns,
  allowance: Allowance,
): Promise<TurnVectors[]> {
  const read = await readKept(state, agentId, segments);
  const isLacking = ({ key }: ListedObject) => {
    const vectors = read.get(key);
    return vectors?.name !== embedder.name || !vectors.complete;
  };
  let failures = 0;
  for (const { key } of segments.filter(isLacking).sort(byUrgency(state.failed))) {
    if (failures >= maxFailures || allowance.texts <= 0 || performance.now() >= allowance.until) break;
    const made = await makeVectors(state.bucket, embedder, key, allowance);
    if (made) {
      read.set(key, made.vectors);
      state.kept.set(`${vectorsKey(key)} ${made.etag}`, made.vectors);
      state.failed.delete(key);
    } else {
      failures++;
      state.failed.add(key);
    }
  }
  return [...read]
    .filter(([, { name }]) => name === embedder.name)
    .map(([key, vectors]) => ({ sessionId: sessionIdOfSegment(key), ...vectors }));
}

/** The stored vectors of segments, of any model, by the segment's key. */
async function readKept(
  { bucket, kept }: State,
  agentId: string,
  segments: readonly ListedObject[],
): Promise<Map<string, SegmentVectors>> {
  const { objects } = await bucket.list(vectorsPrefix(agentId));
  const etags = new Map(objects.map(({ key, etag }) => [key, etag]));
  const there = segments.filter(({ key }) => etags.has(vectorsKey(key)));
  const read = new Map<string, SegmentVectors>();
  for (let start = 0; start < there.length; start += readsAtOnce) {
    const some = there.slice(start, start + readsAtOnce).map(async ({ key }) => {
      const place = vectorsKey(key);
      const name = `${place} ${etags.get(place)}`;
      const vectors = kept.get(name) ?? (await readVectors(bucket, place));
      if (!vectors) return;
      kept.set(name, vectors);
      read.set(key, vectors);
    });
    await Promise.all(some);
  }
  return read;
}

/** Newest first, but segments that failed before last. */
function byUrgency(failed: ReadonlySet<string>): (a: ListedObject, b: ListedObject) => number {
  const late = ({ key }: ListedObject) => Number(failed.has(key));
  return (a, b) => late(a) - late(b) || b.lastModified - a.lastModified;
}

/** Vectors of turns of one conversation. */
type TurnVectors = Pick<SegmentVectors, "turns" | "dimensions" | "numbers"> & { sessionId: string };

/** Maximum number of turns found: matches after these are accidental. */
const maxFound = 50;

/**
 * The turns whose vectors have the highest cosine similarity to a question's, by comparing all. Vectors of another length,
 * and those of turns in no index, are ignored.
 */
function nearestTurns(
  question: Int8Array,
  vectors: readonly TurnVectors[],
  indexes: readonly TurnIndex[],
): IndexedTurn[] {
  const found = new Map<string, number>();
  const scored = vectors
    .filter(({ dimensions }) => dimensions === question.length)
    .flatMap(({ sessionId, turns, dimensions, numbers }) =>
      turns.map((n, i) => ({
        name: `${sessionId} ${n}`,
        cosine: cosineAt(question, numbers, i * dimensions),
      })),
    )
    .sort((a, b) => b.cosine - a.cosine);
  for (const { name, cosine } of scored) {
    if (found.size >= maxFound || cosine <= 0) break;
    // A message may be in two parts of a conversation.
    if (!found.has(name)) found.set(name, cosine);
  }
  const places = new Map<string, IndexedTurn>();
  const sessions = new Set([...found.keys()].map((name) => name.split(" ")[0]));
  for (const { turns } of indexes)
    for (const turn of turns) {
      const { sessionId } = turn.conversation;
      if (sessions.has(sessionId)) places.set(`${sessionId} ${turn.n}`, turn);
    }
  return [...found.keys()].flatMap((name) => places.get(name) ?? []);
}

/** The cosine similarity of a vector and the one that starts at a place in `numbers`. */
function cosineAt(question: Int8Array, numbers: Int8Array, place: number): number {
  let [product, own, other] = [0, 0, 0];
  for (let i = 0; i < question.length; i++) {
    const [a, b] = [question[i] ?? 0, numbers[place + i] ?? 0];
    product += a * b;
    own += a * a;
    other += b * b;
  }
  return own === 0 || other === 0 ? 0 : product / Math.sqrt(own * other);
}
