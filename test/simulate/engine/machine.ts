import type { Timeline } from "./timeline.ts";

/**
 * One instance of a function, with a clock of its own. A machine that died takes part in nothing any more; one that is
 * frozen does what came meanwhile when it goes on.
 */
export class Machine {
  isAlive = true;
  private frozenUntil = 0;

  readonly name: string;
  /** Milliseconds that its clock is ahead of the world's. */
  readonly skew: number;
  private readonly timeline: Timeline;
  private readonly running: Running;

  constructor(name: string, skew: number, timeline: Timeline, running: Running) {
    this.name = name;
    this.skew = skew;
    this.timeline = timeline;
    this.running = running;
  }

  /** Epoch milliseconds, by its own clock. */
  now(): number {
    return Math.round(this.timeline.now + this.skew);
  }

  die(): void {
    this.isAlive = false;
  }

  freeze(ms: number): void {
    this.frozenUntil = Math.max(this.frozenUntil, this.timeline.now + ms);
  }

  /** Runs code of this machine at a time of the world's. @returns what takes it back */
  at(time: number, work: () => void): () => void {
    let takeBack = this.timeline.at(time, () => {
      if (!this.isAlive) return;
      if (this.frozenUntil > this.timeline.now) {
        takeBack = this.at(this.frozenUntil, work);
        return;
      }
      this.running.machine = this;
      work();
    });
    return () => takeBack();
  }

  after(ms: number, work: () => void): () => void {
    return this.at(this.timeline.now + ms, work);
  }
}

/** The machine whose code runs now: all continuations of a happening belong to the machine that it happened to. */
export interface Running {
  machine: Machine | undefined;
}
