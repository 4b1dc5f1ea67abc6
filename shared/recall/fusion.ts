/** The constant of reciprocal rank fusion: the larger, the more it matters to be in several orders. */
const fusionConstant = 60;

/**
 * Combines orders by reciprocal rank fusion: each order adds to the score of what it contains, 1 for its first place and less
 * for each later one. Scores inside the orders do not matter.
 * @param keyOf equal for the same thing in two orders
 * @returns best first; equal scores in the order of first occurrence
 */
export function fuseRanks<T>(orders: readonly (readonly T[])[], keyOf: (one: T) => unknown): T[] {
  const fused = new Map<unknown, { one: T; score: number }>();
  for (const order of orders)
    for (const [place, one] of order.entries()) {
      const known = fused.get(keyOf(one)) ?? { one, score: 0 };
      known.score += (fusionConstant + 1) / (fusionConstant + 1 + place);
      fused.set(keyOf(one), known);
    }
  return [...fused.values()].sort((a, b) => b.score - a.score).map(({ one }) => one);
}
