import type { RankedTurn } from "./ranking.ts";
import type { IndexedTurn } from "./turn-index.ts";

/** How much less the first places of an order count: the larger, the more it matters to be in both. */
const evenness = 60;

/**
 * One order of two, by reciprocal rank fusion: a turn's score is the sum of what its places give, 1 for the first of an
 * order and less for each after it. How the two orders score does not matter.
 * @returns the best first; of equal ones the newest
 */
export function fuse(byWords: readonly RankedTurn[], nearest: readonly IndexedTurn[]): RankedTurn[] {
  const scores = new Map<IndexedTurn, number>();
  for (const order of [byWords.map(({ turn }) => turn), nearest])
    for (const [place, turn] of order.entries())
      scores.set(turn, (scores.get(turn) ?? 0) + (evenness + 1) / (evenness + 1 + place));
  return [...scores]
    .map(([turn, score]) => ({ turn, score }))
    .sort((a, b) => b.score - a.score || b.turn.ts - a.turn.ts);
}
