import type {
  ChatDelta,
  ChatEvent,
  ChatReply,
  ChatRetry,
  RunToolResult,
} from "../../shared/protocol/events.ts";
import { textOf, toolCallsOf } from "../../shared/protocol/messages.ts";

/** One visible step of a run. */
export type RunStep =
  /** The next part of the reply that is streaming. */
  | { kind: "text"; text: string }
  /** The streamed text is discarded; the reply starts over. */
  | { kind: "restart" }
  /** The model's provider failed. The request is retried in `seconds`. */
  | { kind: "waiting"; reason: string; seconds: number }
  /** A reply is complete. `text` is the whole reply; empty when it only calls tools. */
  | { kind: "reply"; text: string }
  /** The answer is incomplete: it reached the model's limit of output tokens. */
  | { kind: "cut" }
  /** A tool call has started. */
  | { kind: "calling"; callId: string; tool: string; args: unknown }
  /** The message waits for an earlier one of the session. `here`: it is not sent yet. */
  | { kind: "queued"; here?: true }
  /** The run of a queued message has begun. */
  | { kind: "begun" }
  /** The run is active, but no event has arrived for `seconds`. */
  | { kind: "silence"; seconds: number }
  /** A tool call has ended. `preview` is the beginning of its result, or of the output of a `command`. */
  | ({ kind: "tool"; args?: unknown } & Pick<
      RunToolResult,
      "callId" | "tool" | "isError" | "preview" | "command"
    >);

/**
 * Converts the events of one run to steps. Events may be lost or repeated: a reply's complete message
 * replaces the streamed text where they differ.
 */
export class RunView {
  #written = "";
  #step = 0;
  #attempt = 0;
  #nextSeq = 0;
  #isComplete = false;
  readonly #answered = new Set<string>();
  readonly #calls = new Map<string, unknown>();

  /** The steps for a `chat` event of this run. None for an outdated delta or one after a gap. */
  chat(event: ChatEvent): RunStep[] {
    if (event.state === "delta") return this.#delta(event);
    if (event.state === "retry") return this.#retry(event);
    return "message" in event && event.state !== "user" ? this.#complete(event) : [];
  }

  /** The steps for a `tool.result` event of this run. None for a repeated event. */
  toolResult(event: RunToolResult): RunStep[] {
    if (this.#answered.has(event.callId)) return [];
    this.#answered.add(event.callId);
    const { callId, tool, isError, preview, command } = event;
    const args = isEmpty(event.args) ? this.#calls.get(callId) : event.args;
    return [{ kind: "tool", callId, tool, args, isError, preview, ...(command ? { command } : {}) }];
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
      // The complete message of the previous reply was lost: use the streamed text instead.
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

  #retry({ reason, waitMs, step, attempt }: ChatRetry): RunStep[] {
    if (step < this.#step || (step === this.#step && this.#isComplete)) return [];
    const steps: RunStep[] = this.#written === "" ? [] : [{ kind: "restart" }];
    this.#begin(step, attempt);
    return [...steps, { kind: "waiting", reason, seconds: Math.ceil(waitMs / 1000) }];
  }

  #complete(event: ChatReply): RunStep[] {
    const { message } = event;
    const steps: RunStep[] = [];
    const text = textOf(message);
    if (text.startsWith(this.#written)) {
      const rest = text.slice(this.#written.length);
      if (rest !== "") steps.push({ kind: "text", text: rest });
    } else if (bare(text) !== bare(this.#written)) {
      steps.push({ kind: "restart" }, { kind: "text", text });
    }
    steps.push({ kind: "reply", text });
    if (event.state === "final" && message.stopReason === "length") steps.push({ kind: "cut" });
    for (const call of toolCallsOf(message)) {
      this.#calls.set(call.id, call.arguments);
      if (!this.#answered.has(call.id))
        steps.push({ kind: "calling", callId: call.id, tool: call.name, args: call.arguments });
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

/** Whether arguments are empty, as in an event for which they were too large. */
function isEmpty(args: unknown): boolean {
  return args === undefined || (typeof args === "object" && args !== null && Object.keys(args).length === 0);
}

/**
 * Text without white space. The stream and the complete message may join blocks with different white space.
 */
function bare(text: string): string {
  return text.replace(/\s+/g, "");
}
