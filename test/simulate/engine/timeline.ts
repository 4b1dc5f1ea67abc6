import type { Random } from "../../support/random.ts";

interface Happening {
  at: number;
  order: number;
  happen: () => void;
}

/** Runs all continuations of resolved promises. This is the real function, even while timers are replaced. */
const { setImmediate } = globalThis;
const settle = () => new Promise<void>((resolve) => void setImmediate(resolve));

/**
 * Virtual time: events happen one after the other, by their time and then by the order in which they were planned.
 * After each event, all code runs until it waits for a later one.
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

  /** A random duration in [0, below), in milliseconds. */
  jitter(below: number): number {
    return this.random.integer(below);
  }

  /** Plans an event. A time in the past means now. @returns a function that cancels it */
  at(time: number, happen: () => void): () => void {
    const one = { at: Math.max(this.now, time), order: this.order++, happen };
    let low = 0;
    let high = this.planned.length;
    // The list is sorted in descending order.
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

  /** Runs until `isOver`, checked after each event, or until nothing is planned. */
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
