import { durationText } from "../../app/columns.ts";
import type { RunStep } from "../run-view.ts";
import { toolLine } from "./tool-line.ts";

/** What the user of one message waits for, as rows that show how long it has taken so far. */
export class Progress {
  readonly #now: () => number;
  readonly #calls = new Map<string, { line: string; at: number }>();
  readonly #sentAt: number;
  /** When the last event came, of a run that is silent. */
  #silentSince: number | undefined;
  #state: "waits" | "queued" | "answers" = "waits";
  #isStopping = false;

  /** @param now epoch ms; the message is sent at this moment */
  constructor(now: () => number = Date.now) {
    this.#now = now;
    this.#sentAt = now();
  }

  /** Takes notice of a step of the run. */
  take(step: RunStep): void {
    this.#silentSince = step.kind === "silence" ? this.#now() - step.seconds * 1000 : undefined;
    if (step.kind === "calling") this.#calls.set(step.callId, { line: toolLine(step), at: this.#now() });
    if (step.kind === "tool") this.#calls.delete(step.callId);
    if (step.kind === "silence") return;
    if (step.kind === "queued") this.#state = "queued";
    else this.#state = step.kind === "text" ? "answers" : "waits";
  }

  /** Whether the user has asked to stop the run, and it is not known that it goes on. */
  set isStopping(isStopping: boolean) {
    this.#isStopping = isStopping;
  }

  /** A row for each running call; else one that says what is waited for. None while text is coming. */
  rows(): string[] {
    if (this.#isStopping) return [`stopping …${this.#since(this.#sentAt)} (Ctrl-C again leaves)`];
    if (this.#state === "queued") return [`… waiting for an earlier message${this.#since(this.#sentAt)}`];
    if (this.#calls.size > 0) return [...this.#calls.values()].map(({ line, at }) => line + this.#since(at));
    if (this.#silentSince !== undefined)
      return [`… no news for${this.#since(this.#silentSince)} (Ctrl-C stops)`];
    return this.#state === "answers" ? [] : [`…${this.#since(this.#sentAt)} (Ctrl-C stops)`];
  }

  /** The time since a moment in whole seconds, behind a blank; empty before the first. */
  #since(moment: number): string {
    const ms = this.#now() - moment;
    if (ms < 1000) return "";
    const seconds = Math.floor(ms / 1000);
    return seconds < 60 ? ` ${seconds} s` : ` ${durationText(seconds * 1000)}`;
  }
}
