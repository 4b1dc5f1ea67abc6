import type { ChatDelta, ChatEvent, RunToolResult } from "../../shared/protocol/events.ts";
import { type AssistantMessage, textOf, toolCallsOf } from "../../shared/protocol/messages.ts";

/** What a run shows, step by step. */
export type RunStep =
  /** More text of the reply that is being written. */
  | { kind: "text"; text: string }
  /** The text so far is void: it starts over. */
  | { kind: "restart" }
  /** A reply is complete; `text` is all of it, empty when it only calls tools. */
  | { kind: "reply"; text: string }
  /** A tool is at work. */
  | { kind: "calling"; tool: string; args: Record<string, unknown> }
  /** Nothing has been heard of the run for a while, but it goes on. */
  | { kind: "silence"; seconds: number }
  /** A tool has answered. */
  | { kind: "tool"; tool: string; args?: Record<string, unknown>; isError: boolean; preview: string };

/**
 * Follows the events of one run and turns them into steps. Events may be lost or repeated, so a reply's complete
 * message, when it comes, has the last word on its text.
 */
export class RunView {
  #written = "";
  #step = 0;
  #attempt = 0;
  #nextSeq = 0;
  #isComplete = false;
  readonly #answered = new Set<string>();
  readonly #calls = new Map<string, Record<string, unknown>>();

  /** The steps that an event `chat` of this run brings. A delta that is old or comes after a gap brings none. */
  chat(event: ChatEvent): RunStep[] {
    if (event.state === "delta") return this.#delta(event);
    return event.state === "error" ? [] : this.#complete(event.message);
  }

  /** The steps that an event `tool.result` of this run brings. */
  toolResult(event: RunToolResult): RunStep[] {
    if (this.#answered.has(event.callId)) return [];
    this.#answered.add(event.callId);
    const { tool, isError, preview } = event;
    return [{ kind: "tool", tool, args: event.args ?? this.#calls.get(event.callId), isError, preview }];
  }

  #delta({
    text = "",
    seq = this.#nextSeq,
    attempt = this.#attempt,
    step = this.#step,
  }: ChatDelta): RunStep[] {
    const newer = step - this.#step || attempt - this.#attempt;
    if (newer < 0 || (newer === 0 && this.#isComplete && seq > 0)) return [];
    const steps: RunStep[] = [];
    if (newer > 0 || this.#isComplete) {
      // A reply whose complete message was lost ends with what was streamed of it.
      if (this.#written !== "")
        steps.push(step > this.#step ? { kind: "reply", text: this.#written } : { kind: "restart" });
      this.#begin(step, attempt);
    }
    if (seq !== this.#nextSeq) return steps;
    this.#nextSeq += 1;
    this.#written += text;
    if (text !== "") steps.push({ kind: "text", text });
    return steps;
  }

  #complete(message: AssistantMessage): RunStep[] {
    const steps: RunStep[] = [];
    const text = textOf(message);
    if (text.startsWith(this.#written)) {
      const rest = text.slice(this.#written.length);
      if (rest !== "") steps.push({ kind: "text", text: rest });
    } else if (bare(text) !== bare(this.#written)) {
      steps.push({ kind: "restart" }, { kind: "text", text });
    }
    steps.push({ kind: "reply", text });
    for (const call of toolCallsOf(message)) {
      this.#calls.set(call.id, call.arguments);
      if (!this.#answered.has(call.id))
        steps.push({ kind: "calling", tool: call.name, args: call.arguments });
    }
    this.#written = "";
    this.#isComplete = true;
    return steps;
  }

  #begin(step: number, attempt: number): void {
    this.#step = step;
    this.#attempt = attempt;
    this.#written = "";
    this.#nextSeq = 0;
    this.#isComplete = false;
  }
}

/** Text without white space: how blocks are joined may differ between the stream and the message. */
function bare(text: string): string {
  return text.replace(/\s+/g, "");
}
