import type { Random } from "../../support/random.ts";

/** Kinds of faults, by their name in the counts. */
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
  /** False: there are no more faults. */
  isOn = true;
  private drawn = 0;

  /**
   * @param oneIn one in this many occasions has a fault; 0 for none
   * @param leftOut numbers of faults to leave out, to find those that matter
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
   * Draws one of these faults, or none.
   * @param times how much more probable than for a call: for rare events
   */
  draw(names: readonly FaultName[], times = 1): FaultName | undefined {
    if (!this.isOn || this.oneIn === 0) return undefined;
    if (this.random.integer(Math.ceil(this.oneIn / times)) > 0) return undefined;
    const name = this.random.pick(names);
    if (this.leftOut.has(this.drawn++)) return undefined;
    this.counts[name]++;
    return name;
  }

  between(min: number, max: number): number {
    return min + this.random.integer(max - min + 1);
  }
}
