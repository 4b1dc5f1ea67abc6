import { durationText } from "../../app/columns.ts";
import type { RunStep } from "../run-view.ts";
import { toolLine } from "./tool-line.ts";

/** The progress of one message, as rows with elapsed times. */
export class Progress {
  readonly #now: () => number;
  readonly #calls = new Map<string, { line: string; at: number }>();
  readonly #sentAt: number;
  /** Time of the last event, if the run is silent. */
  #silentSince: number | undefined;
  #state: "waits" | "queued" | "answers" = "waits";
  #isStopping = false;

  /** @param now returns epoch ms. The time of this call counts as the time of sending. */
  constructor(now: () => number = Date.now) {
    this.#now = now;
    this.#sentAt = now();
  }

  /** Updates the progress with a step of the run. */
  update(step: RunStep): void {
    this.#silentSince = step.kind === "silence" ? this.#now() - step.seconds * 1000 : undefined;
    if (step.kind === "calling") this.#calls.set(step.callId, { line: toolLine(step), at: this.#now() });
    if (step.kind === "tool") this.#calls.delete(step.callId);
    if (step.kind === "silence") return;
    if (step.kind === "queued") this.#state = "queued";
    else this.#state = step.kind === "text" ? "answers" : "waits";
  }

  /** Whether the user has asked to stop the run. Reset when the stop failed. */
  set isStopping(isStopping: boolean) {
    this.#isStopping = isStopping;
  }

  /** One row for each running call, else one row with the state of the run. None while text is streaming. */
  rows(): string[] {
    if (this.#isStopping) return [`stopping …${this.#since(this.#sentAt)} (Ctrl-C again leaves)`];
    if (this.#state === "queued") return [`… waiting for an earlier message${this.#since(this.#sentAt)}`];
    if (this.#calls.size > 0) return [...this.#calls.values()].map(({ line, at }) => line + this.#since(at));
    if (this.#silentSince !== undefined)
      return [`… no event for${this.#since(this.#silentSince)} (Ctrl-C stops)`];
    return this.#state === "answers" ? [] : [`…${this.#since(this.#sentAt)} (Ctrl-C stops)`];
  }

  /** The time since `moment` in whole seconds, preceded by a blank; empty during the first second. */
  #since(moment: number): string {
    const ms = this.#now() - moment;
    if (ms < 1000) return "";
    const seconds = Math.floor(ms / 1000);
    return seconds < 60 ? ` ${seconds} s` : ` ${durationText(seconds * 1000)}`;
  }
}
