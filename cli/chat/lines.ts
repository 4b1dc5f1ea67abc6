import { type Style, type Terminal, writeText } from "../app/terminal.ts";
import type { Conversation, TurnOutcome } from "./conversation.ts";
import type { ImageFile } from "./images.ts";
import type { RunStep } from "./run-view.ts";
import { cutLine, toolLine, waitingLine } from "./tool-line.ts";

export interface TurnSinks {
  /** Receives only the text of answers. */
  answer: Terminal["stdout"];
  /** Receives tool activity, text between tool calls, and errors. */
  activity: Terminal["stderr"];
  /** Writes each outcome to `answer` as a line of JSON instead of text. */
  json: boolean;
  style: Style;
}

const endings: Partial<Record<TurnOutcome["status"], string>> = {
  stopped: "the run is stopped",
  left: "left; the run goes on, and `gsv session preview` shows its answer",
};

/** Sends one message with images and prints its steps and outcome. At a terminal, the answer is streamed. */
export async function converse(
  conversation: Conversation,
  message: string,
  { answer, activity, json, style }: TurnSinks,
  images: readonly ImageFile[] = [],
): Promise<TurnOutcome> {
  const streaming = answer.isTTY === true && !json;
  let held = "";
  let midLine = false;
  let minutes = 0;
  const newLine = () => {
    if (midLine) writeText(answer, "\n");
    midLine = false;
  };
  const note = (text: string) => {
    writeText(activity, text, style.dim);
    writeText(activity, "\n");
  };
  const show = (step: RunStep) => {
    if (step.kind === "silence") {
      if (step.seconds >= 60 * (minutes + 1)) {
        minutes = Math.floor(step.seconds / 60);
        note(`(no news for ${step.seconds} s; still waiting)`);
      }
      return;
    }
    if (step.kind === "cut") {
      newLine();
      note(`(${cutLine})`);
      return;
    }
    if (held !== "" && step.kind !== "restart") {
      // A reply followed by another step was not the final answer.
      if (!streaming) note(held);
      held = "";
    }
    if (step.kind === "reply") held = step.text;
    if (step.kind === "tool") {
      if (streaming) newLine();
      note(toolLine(step));
    }
    if (!streaming) return;
    if (step.kind === "waiting") {
      if (streaming) newLine();
      note(`(${waitingLine(step)})`);
    }
    if (step.kind === "text") {
      writeText(answer, step.text);
      midLine = !step.text.endsWith("\n");
    }
    if (step.kind === "reply") newLine();
    if (step.kind === "restart") {
      newLine();
      note("(the reply starts over)");
    }
  };
  const outcome = await conversation.send(message, show, images);
  newLine();
  const end = endings[outcome.status];
  if (end !== undefined) writeText(activity, `gsv: ${end}\n`);
  if (json) answer.write(`${JSON.stringify({ message, ...outcome })}\n`);
  else if (outcome.status === "failed") writeText(activity, `gsv: ${outcome.error}\n`);
  else if (outcome.text !== "" && !(streaming && outcome.status === "answered"))
    writeText(answer, `${outcome.text}\n`);
  return outcome;
}

/**
 * Sends each non-blank line as a message, one after the other is answered, until `signal` is aborted. Returns the
 * outcomes in order.
 */
export async function converseByLine(
  conversation: Conversation,
  lines: AsyncIterable<string>,
  sinks: TurnSinks,
  signal: AbortSignal,
): Promise<TurnOutcome[]> {
  const outcomes: TurnOutcome[] = [];
  for await (const line of lines) {
    if (signal.aborted) break;
    if (line.trim() !== "") outcomes.push(await converse(conversation, line.trim(), sinks));
  }
  return outcomes;
}
