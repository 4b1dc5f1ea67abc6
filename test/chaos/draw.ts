import { createHash } from "node:crypto";
import { type Random, seededRandom } from "../support/random.ts";

/** Random choices for one thing in a run. They depend on its identity, not on when it happens. */
export interface Draw extends Random {
  /** True with this probability. */
  chance(probability: number): boolean;
  /** A number in [min, max). */
  between(min: number, max: number): number;
}

/**
 * The choices of `seed` for the thing that `identity` names. Two runs with one seed make the same choices for the same
 * thing, in whatever order things happen.
 */
export function drawFor(seed: number, ...identity: (string | number)[]): Draw {
  const digest = createHash("sha256")
    .update(JSON.stringify([seed, ...identity]))
    .digest();
  const random = seededRandom(digest.readUInt32LE(0));
  const steps = 1_000_000;
  const fraction = () => random.integer(steps) / steps;
  return {
    ...random,
    chance: (probability) => fraction() < probability,
    between: (min, max) => min + fraction() * (max - min),
  };
}
