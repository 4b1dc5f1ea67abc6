import type { Bucket } from "../../world/world.ts";
import type { Turn } from "../segment.ts";
import { readSegment } from "../segment-files.ts";
import type { Embedder } from "./embedder.ts";
import { readVectors, type SegmentVectors, vectorsKey, writeVectors } from "./vector-files.ts";

/** What one request asks for at most. Servers without a graphics card take seconds for it. */
const batch = { texts: 16, characters: 8000 };

/** How much may be made in one go. What is left, the next one makes. */
export interface Allowance {
  /** Texts that may still be sent. */
  texts: number;
  /** When to stop, as `performance.now()` tells it; a request that is under way is waited for. */
  until: number;
}

/** What one search, reset or compaction makes at most: 512 vectors, in about three seconds. */
export function usualAllowance(): Allowance {
  return { texts: 512, until: performance.now() + 3000 };
}

/** Whether a turn is to have a vector. Results of tools are found by their words. */
export const isMeant = ({ role }: Pick<Turn, "role">): boolean => role !== "tool";

/**
 * Makes the vectors that a segment's object lacks, and stores them. Vectors that another model made are replaced.
 * @returns all that it has now, and their ETag; undefined when nothing could be made, or it was deleted meanwhile
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

/** Vectors of turns, in order; fewer when the allowance is used up, or the server gave none. */
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
function nextBatch(turns: readonly Turn[], from: number, most: number): string[] {
  const texts: string[] = [];
  let characters = 0;
  for (const { text } of turns.slice(from, from + Math.min(most, batch.texts))) {
    characters += text.length;
    if (texts.length > 0 && characters > batch.characters) break;
    texts.push(text);
  }
  return texts;
}

/** Undefined when the vectors of one model have different lengths: the new ones are of another model of that name. */
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
