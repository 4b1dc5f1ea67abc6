import type { Random } from "../../support/random.ts";

/** What can go wrong, as it is counted. */
export const faultNames = [
  "kills",
  "pauses",
  "failures",
  "lostAnswers",
  "repeats",
  "duplicates",
  "slow",
  "silent",
  "late",
  "double",
] as const;
export type FaultName = (typeof faultNames)[number];

/** Draws the faults of one schedule. */
export class Faults {
  readonly counts = Object.fromEntries(faultNames.map((name) => [name, 0])) as Record<FaultName, number>;
  /** Off: nothing fails any more. */
  isOn = true;
  private drawn = 0;

  /**
   * @param oneIn of so many occasions one has a fault; 0 for none
   * @param leftOut faults that are left out, by their numbers: to find those that matter
   */
  private readonly random: Random;
  private readonly oneIn: number;
  private readonly leftOut: ReadonlySet<number>;

  constructor(random: Random, oneIn: number, leftOut: ReadonlySet<number>) {
    this.random = random;
    this.oneIn = oneIn;
    this.leftOut = leftOut;
  }

  get total(): number {
    return this.drawn;
  }

  /**
   * One of these faults, or none.
   * @param times how much more often than of a call: for what happens seldom
   */
  draw(names: readonly FaultName[], times = 1): FaultName | undefined {
    if (!this.isOn || this.oneIn === 0) return undefined;
    if (this.random.integer(Math.ceil(this.oneIn / times)) > 0) return undefined;
    const name = this.random.pick(names);
    if (this.leftOut.has(this.drawn++)) return undefined;
    this.counts[name]++;
    return name;
  }

  between(least: number, most: number): number {
    return least + this.random.integer(most - least + 1);
  }
}
