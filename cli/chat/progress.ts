import { durationText } from "../app/columns.ts";
import type { Terminal } from "../app/terminal.ts";
import { drawable, prefixWithin } from "../app/text-width.ts";
import type { RunStep } from "./run-view.ts";
import { toolLine } from "./tool-line.ts";

/** The progress of one message, as rows with elapsed times. */
export class Progress {
  readonly #now: () => number;
  readonly #calls = new Map<string, { line: string; at: number }>();
  readonly #sentAt: number;
  /** Time of the last event, if the run is silent. */
  #silentSince: number | undefined;
  #state: "waits" | "here" | "queued" | "answers" = "waits";
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
    if (step.kind === "queued") this.#state = step.here ? "here" : "queued";
    else this.#state = step.kind === "text" ? "answers" : "waits";
  }

  /** Whether the user has asked to stop the run. Reset when the stop failed. */
  set isStopping(isStopping: boolean) {
    this.#isStopping = isStopping;
  }

  /** Where the message waits for an earlier one: "here", or "queued" in the session's inbox. */
  get queued(): "here" | "queued" | undefined {
    return this.#state === "here" || this.#state === "queued" ? this.#state : undefined;
  }

  /** One row for each running call, else one row with the state of the run. None while text is streaming. */
  rows(): string[] {
    if (this.#isStopping) return [`stopping …${this.#since(this.#sentAt)} (Ctrl-C again leaves)`];
    if (this.queued) return [`… waiting for an earlier message${this.#since(this.#sentAt)}`];
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

/**
 * The last row of a terminal. It shows the progress, and is removed before anything else is written. Shows nothing when
 * the stream is not a terminal.
 */
export class WaitingRow {
  readonly #stream: Terminal["stderr"];
  readonly #style: (text: string) => string;
  #progress: Progress | undefined;
  #shown = "";

  constructor(stream: Terminal["stderr"], style: (text: string) => string = String) {
    this.#stream = stream;
    this.#style = style;
  }

  /** Shows the progress of a message until `end`. */
  begin(progress: Progress): void {
    this.#progress = progress;
    this.draw();
  }

  /** Shows whether the run is being stopped. */
  stopping(isStopping: boolean): void {
    if (this.#progress) this.#progress.isStopping = isStopping;
    this.draw();
  }

  /** Redraws the row. The cursor must be at the beginning of a row, or in this one. */
  draw(): void {
    const text = this.#progress?.rows().join(" · ") ?? "";
    if (this.#stream.isTTY !== true || text === this.#shown) return;
    this.clear();
    if (text === "") return;
    // A full row would move the cursor to the next one.
    const row = prefixWithin(drawable(text).replaceAll("\n", " "), (this.#stream.columns ?? 80) - 1);
    this.#stream.write(this.#style(row));
    this.#shown = text;
  }

  /** Removes the row, until it is drawn again. */
  clear(): void {
    if (this.#shown !== "") this.#stream.write("\r\u001b[K");
    this.#shown = "";
  }

  /** Removes the row: the message has its outcome. */
  end(): void {
    this.#progress = undefined;
    this.clear();
  }
}
