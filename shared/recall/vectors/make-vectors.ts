import type { Bucket } from "../../world/world.ts";
import type { Turn } from "../segment.ts";
import { readSegment } from "../segment-files.ts";
import type { Embedder } from "./embedder.ts";
import { readVectors, type SegmentVectors, vectorsKey, writeVectors } from "./vector-files.ts";

/** Maximum size of one request. Servers without a GPU need seconds for it. */
const batch = { texts: 16, characters: 8000 };

/** How many vectors one operation may compute. The next operation continues. */
export interface Allowance {
  /** Remaining number of texts. */
  texts: number;
  /** When to stop, on the clock of `performance.now()`; a request in progress is awaited. */
  until: number;
}

/** The allowance of one search, reset or compaction: 512 vectors in about three seconds. */
export function usualAllowance(): Allowance {
  return { texts: 512, until: performance.now() + 3000 };
}

/** Whether a turn needs a vector. Tool results are found only by their words. */
export const isMeant = ({ role }: Pick<Turn, "role">): boolean => role !== "tool";

/**
 * Computes and stores the missing vectors of a segment's object. Vectors of another model are replaced.
 * @returns all its vectors and their ETag; undefined when none could be computed, or the object was deleted meanwhile
 */
export async function makeVectors(
  bucket: Bucket,
  embedder: Embedder,
  segmentKey: string,
  allowance: Allowance,
): Promise<{ vectors: SegmentVectors; etag: string } | undefined> {
  const key = vectorsKey(segmentKey);
  const [segment, stored] = await Promise.all([readSegment(bucket, segmentKey), readVectors(bucket, key)]);
  if (!segment) return undefined;
  const known = stored?.name === embedder.name ? stored : undefined;
  const there = new Set(known?.turns);
  const lacking = segment.turns.filter((turn) => isMeant(turn) && !there.has(turn.n));
  const made = await embedTurns(embedder, lacking, allowance);
  if (made.length === 0 && lacking.length > 0) return undefined;
  const vectors = joined(embedder.name, known, lacking.slice(0, made.length), made);
  if (!vectors) return undefined;
  const complete = made.length === lacking.length;
  return {
    vectors: { ...vectors, complete },
    etag: await writeVectors(bucket, key, { ...vectors, complete }),
  };
}

/** Vectors of turns, in order; fewer when the allowance is used up or the server fails. */
export async function embedTurns(
  embedder: Embedder,
  turns: readonly Turn[],
  allowance: Allowance,
): Promise<Int8Array[]> {
  const made: Int8Array[] = [];
  while (made.length < turns.length && allowance.texts > 0 && performance.now() < allowance.until) {
    const texts = nextBatch(turns, made.length, allowance.texts);
    const vectors = await embedder.embed(texts, "text");
    if (!vectors) break;
    made.push(...vectors);
    allowance.texts -= texts.length;
  }
  return made;
}

/** At least one text. */
function nextBatch(turns: readonly Turn[], from: number, maxTexts: number): string[] {
  const texts: string[] = [];
  let characters = 0;
  for (const { text } of turns.slice(from, from + Math.min(maxTexts, batch.texts))) {
    characters += text.length;
    if (texts.length > 0 && characters > batch.characters) break;
    texts.push(text);
  }
  return texts;
}

/** Undefined when old and new vectors have different lengths: the new ones are from another model with the same name. */
function joined(
  name: string,
  known: SegmentVectors | undefined,
  turns: readonly Turn[],
  made: readonly Int8Array[],
): Omit<SegmentVectors, "complete"> | undefined {
  const dimensions = known && known.turns.length > 0 ? known.dimensions : (made[0]?.length ?? 0);
  if (made.some(({ length }) => length !== dimensions)) return undefined;
  const before = known?.numbers ?? new Int8Array();
  const numbers = new Int8Array(before.length + made.length * dimensions);
  numbers.set(before);
  for (const [i, vector] of made.entries()) numbers.set(vector, before.length + i * dimensions);
  return { name, dimensions, turns: [...(known?.turns ?? []), ...turns.map(({ n }) => n)], numbers };
}
