import { createHash } from "node:crypto";
import { type Random, seededRandom } from "../support/random.ts";

/** Choices for one thing that happens in a run, by what it is and not by when it comes. */
export interface Draw extends Random {
  /** True with this probability. */
  chance(probability: number): boolean;
  /** A number from `least` up to, not including, `most`. */
  between(least: number, most: number): number;
}

/**
 * The choices of `seed` for whatever `identity` names. Two runs of one seed choose the same for the same thing, in
 * whatever order things come.
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
    between: (least, most) => least + fraction() * (most - least),
  };
}
