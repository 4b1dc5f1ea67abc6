import type { Random } from "../../support/random.ts";

interface Happening {
  at: number;
  order: number;
  happen: () => void;
}

/** Lets every continuation of already resolved promises run. The real one, also while timers are replaced. */
const { setImmediate } = globalThis;
const settle = () => new Promise<void>((resolve) => void setImmediate(resolve));

/**
 * Virtual time: happenings take place one after the other, ordered by their time, and those of the same time by the
 * order in which they were planned. Between two happenings all code runs until it waits for a later one.
 */
export class Timeline {
  /** Epoch milliseconds. */
  now: number;
  private readonly planned: Happening[] = [];
  private order = 0;

  private readonly random: Random;

  constructor(start: number, random: Random) {
    this.random = random;
    this.now = start;
  }

  /** A duration from 0 up to, not including, `below`, in milliseconds. */
  jitter(below: number): number {
    return this.random.integer(below);
  }

  /** Plans a happening. A time in the past is now. @returns what takes it back */
  at(time: number, happen: () => void): () => void {
    const one = { at: Math.max(this.now, time), order: this.order++, happen };
    let low = 0;
    let high = this.planned.length;
    // The list is sorted from the last to the first.
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.planned[middle] as Happening).at > one.at) low = middle + 1;
      else high = middle;
    }
    this.planned.splice(low, 0, one);
    return () => {
      const index = this.planned.indexOf(one);
      if (index >= 0) this.planned.splice(index, 1);
    };
  }

  after(ms: number, happen: () => void): () => void {
    return this.at(this.now + ms, happen);
  }

  pass(ms: number): Promise<void> {
    return new Promise((resolve) => void this.after(ms, resolve));
  }

  /** Runs until `isOver`, asked after each happening, or until nothing is planned. */
  async run(isOver: () => boolean): Promise<void> {
    await settle();
    while (!isOver()) {
      const next = this.planned.pop();
      if (!next) return;
      this.now = next.at;
      next.happen();
      await settle();
    }
  }
}
