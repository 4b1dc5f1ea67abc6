import type { Timeline } from "./timeline.ts";

/**
 * One instance of a function with its own clock. A dead machine does nothing more. A frozen one handles pending events
 * when it continues.
 */
export class Machine {
  isAlive = true;
  private frozenUntil = 0;

  readonly name: string;
  /** How far its clock is ahead of the world's, in milliseconds. */
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

  /** Runs code on this machine at a time of the world's clock. @returns a function that cancels it */
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

/** The machine whose code runs now. All continuations of an event belong to the machine of the event. */
export interface Running {
  machine: Machine | undefined;
}
