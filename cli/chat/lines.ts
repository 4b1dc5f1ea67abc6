import { type Style, type Terminal, writeText } from "../app/terminal.ts";
import type { AttachedFile } from "./attached-files.ts";
import type { Conversation, TurnOutcome } from "./conversation.ts";
import type { WaitingRow } from "./progress.ts";
import { Progress } from "./progress.ts";
import { canRetry, nothingToRetry } from "./retry.ts";
import type { RunStep } from "./run-view.ts";
import type { StreamedReply } from "./terminal/streamed-reply.ts";
import { cutLine, toolLine, waitingLine } from "./tool-line.ts";

export interface TurnSinks {
  /** Receives only the text of answers. */
  answer: Terminal["stdout"];
  /** Receives tool activity, text between tool calls, and errors. */
  activity: Terminal["stderr"];
  /** Writes each step and the outcome to `answer` as a line of JSON, instead of the answer's text. */
  json: boolean;
  style: Style;
  /** Lays out streamed answers for a terminal. Without it, they are written unchanged. */
  reply?: StreamedReply;
  /** The last row of the terminal, which shows the progress. */
  waiting: WaitingRow;
}

const endings: Partial<Record<TurnOutcome["status"], string>> = {
  stopped: "the run was stopped",
  withdrawn: "the message was removed from the queue before its run began",
  left: "left; the run continues, and `gsv session preview` shows its answer",
};

/**
 * Sends one message with images and prints its steps and outcome. At a terminal, the answer is streamed.
 * @param retry returns the line that sends a stopped or failed message again
 */
export async function converse(
  conversation: Conversation,
  message: string,
  sinks: TurnSinks,
  images: readonly AttachedFile[] = [],
  retry: () => string | undefined = () => undefined,
): Promise<TurnOutcome> {
  const { answer, json } = sinks;
  const print = new TurnPrinter(sinks);
  const ticks = setInterval(() => print.tick(), 1000);
  const outcome = await conversation.send(message, (step) => print.step(step), images);
  clearInterval(ticks);
  print.end();
  const end = endings[outcome.status];
  if (end !== undefined) print.say(`gsv: ${end}`);
  const offered = canRetry(message, outcome) ? { retry: retry() } : {};
  if (json) answer.write(`${JSON.stringify({ ...resultLine(message, outcome), ...offered })}\n`);
  else if (outcome.status === "failed") print.say(`gsv: ${outcome.error}`);
  else if (outcome.text !== "" && !(print.isStreaming && outcome.status === "answered"))
    writeText(answer, `${outcome.text}\n`);
  if (!json && offered.retry !== undefined) print.say(`gsv: ${offered.retry} sends it again`);
  return outcome;
}

/** The last line of JSON of a message. Its error has the shape of every error with --json. */
function resultLine(message: string, { error, ...outcome }: TurnOutcome): object {
  const failure = error === undefined ? {} : { error: { code: "run", message: error } };
  return { type: "result", message, ...outcome, ...failure };
}

/** Prints the steps of one message. */
class TurnPrinter {
  readonly isStreaming: boolean;
  readonly #sinks: TurnSinks;
  readonly #progress: Progress;
  /** A reply that may be the final answer. Used when answers are not streamed. */
  #held = "";
  #midLine = false;
  #minutes = 0;

  constructor(sinks: TurnSinks) {
    this.#sinks = sinks;
    this.isStreaming = sinks.answer.isTTY === true && !sinks.json;
    this.#progress = new Progress();
    sinks.waiting.begin(this.#progress);
  }

  /** Updates the elapsed time. */
  tick(): void {
    if (!this.#midLine) this.#sinks.waiting.draw();
  }

  /** Removes the progress row and ends the line. */
  end(): void {
    this.#sinks.waiting.end();
    this.#newLine();
  }

  /** Writes a message of the program. */
  say(text: string): void {
    writeText(this.#sinks.activity, `${text}\n`);
  }

  step(step: RunStep): void {
    const { answer, json } = this.#sinks;
    const { kind: type, ...fields } = step;
    if (json) answer.write(`${JSON.stringify({ type, ...fields })}\n`);
    // Text that is not streamed does not end the wait.
    if (step.kind !== "text" || this.isStreaming) this.#progress.update(step);
    this.#sinks.waiting.clear();
    this.#print(step);
    this.tick();
  }

  #print(step: RunStep): void {
    if (step.kind === "silence") {
      this.#silence(step.seconds);
      return;
    }
    if (step.kind === "cut") {
      this.#newLine();
      this.#note(`(${cutLine})`);
      return;
    }
    if (step.kind === "queued" && !this.#sinks.activity.isTTY) this.#note("(waiting for an earlier message)");
    if (this.#held !== "" && step.kind !== "restart") {
      // A reply followed by another step was not the final answer.
      if (!this.isStreaming) this.#note(this.#held);
      this.#held = "";
    }
    if (step.kind === "reply") this.#held = step.text;
    if (step.kind === "tool") {
      if (this.isStreaming) this.#newLine();
      this.#note(toolLine(step));
    }
    if (this.isStreaming) this.#stream(step);
  }

  #stream(step: RunStep): void {
    if (step.kind !== "text") this.#newLine();
    if (step.kind === "waiting") this.#note(`(${waitingLine(step)})`);
    if (step.kind === "restart") this.#note("(the reply starts over)");
    if (step.kind !== "text") return;
    const { answer, reply } = this.#sinks;
    if (reply === undefined) writeText(answer, step.text);
    else reply.add(step.text);
    this.#midLine = reply !== undefined || !step.text.endsWith("\n");
  }

  /** Reports a silent run each minute. At a terminal, the progress row shows it instead. */
  #silence(seconds: number): void {
    if (this.#sinks.activity.isTTY || seconds < 60 * (this.#minutes + 1)) return;
    this.#minutes = Math.floor(seconds / 60);
    this.#note(`(no event for ${seconds} s; still waiting)`);
  }

  #newLine(): void {
    const { answer, reply } = this.#sinks;
    if (reply !== undefined) reply.end();
    else if (this.#midLine) writeText(answer, "\n");
    this.#midLine = false;
  }

  #note(text: string): void {
    const { activity, style } = this.#sinks;
    writeText(activity, text, style.dim);
    writeText(activity, "\n");
  }
}

/**
 * Sends each non-blank line as a message, each after the previous outcome, until `signal` is aborted; "/retry" sends the
 * last message again if it was stopped or failed. Returns the outcomes in order.
 */
export async function converseByLine(
  conversation: Conversation,
  lines: AsyncIterable<string>,
  sinks: TurnSinks,
  signal: AbortSignal,
): Promise<TurnOutcome[]> {
  const outcomes: TurnOutcome[] = [];
  let unanswered: string | undefined;
  for await (const line of lines) {
    if (signal.aborted) break;
    const message = line.trim() === "/retry" ? unanswered : line.trim();
    if (message === undefined) writeText(sinks.activity, `gsv: ${nothingToRetry}\n`);
    if (!message) continue;
    const outcome = await converse(conversation, message, sinks, [], () =>
      signal.aborted ? undefined : "/retry",
    );
    outcomes.push(outcome);
    unanswered = canRetry(message, outcome) ? message : undefined;
  }
  return outcomes;
}
