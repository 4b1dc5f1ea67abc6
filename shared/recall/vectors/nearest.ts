import type { IndexedTurn, TurnIndex } from "../turn-index.ts";
import type { SegmentVectors } from "./vector-files.ts";

/** Vectors of turns of one conversation. */
export type TurnVectors = Pick<SegmentVectors, "turns" | "dimensions" | "numbers"> & { sessionId: string };

/** How many turns are found: behind them, what is near is near by chance. */
const mostFound = 50;

/**
 * The turns whose vectors point most nearly the way of a question's: by their cosine, each compared. Vectors of another
 * length, and those whose turn no index has, are left out.
 */
export function nearestTurns(
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
    if (found.size >= mostFound || cosine <= 0) break;
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

/** The cosine of the angle between a vector and the one that begins at a place. */
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
