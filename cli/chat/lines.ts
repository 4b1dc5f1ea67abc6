import type { Style } from "../app/terminal.ts";
import type { Conversation, TurnOutcome } from "./conversation.ts";
import type { ImageFile } from "./images.ts";
import type { RunStep } from "./run-view.ts";
import { printable } from "./text-width.ts";
import { toolLine } from "./tool-line.ts";

export interface TurnSinks {
  /** Receives only the text of answers. */
  answer: { write(text: string): unknown; isTTY?: boolean };
  /** Receives tool activity, text between tool calls, and errors. */
  activity: { write(text: string): unknown };
  /** Writes each outcome to `answer` as a line of JSON instead of text. */
  json: boolean;
  style: Style;
}

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
    if (midLine) answer.write("\n");
    midLine = false;
  };
  const show = (step: RunStep) => {
    if (step.kind === "silence") {
      if (step.seconds >= 60 * (minutes + 1)) {
        minutes = Math.floor(step.seconds / 60);
        activity.write(`${style.dim(`(no news for ${step.seconds} s; still waiting)`)}\n`);
      }
      return;
    }
    if (held !== "" && step.kind !== "restart") {
      // A reply followed by another step was not the final answer.
      if (!streaming) activity.write(`${style.dim(held)}\n`);
      held = "";
    }
    if (step.kind === "reply") held = step.text;
    if (step.kind === "tool") {
      if (streaming) newLine();
      activity.write(`${style.dim(toolLine(step))}\n`);
    }
    if (!streaming) return;
    if (step.kind === "text") {
      answer.write(printable(step.text));
      midLine = !step.text.endsWith("\n");
    }
    if (step.kind === "reply") newLine();
    if (step.kind === "restart") {
      newLine();
      activity.write(`${style.dim("(the reply starts over)")}\n`);
    }
  };
  const outcome = await conversation.send(message, show, images);
  newLine();
  if (json) answer.write(`${JSON.stringify({ message, ...outcome })}\n`);
  else if (outcome.status === "failed") activity.write(`gsv: ${outcome.error}\n`);
  else if (outcome.text !== "" && !(streaming && outcome.status === "answered"))
    answer.write(`${outcome.text}\n`);
  return outcome;
}

/** Sends each non-blank line as a message, one after the other is answered. Returns the outcomes in order. */
export async function converseByLine(
  conversation: Conversation,
  lines: AsyncIterable<string>,
  sinks: TurnSinks,
): Promise<TurnOutcome[]> {
  const outcomes: TurnOutcome[] = [];
  for await (const line of lines)
    if (line.trim() !== "") outcomes.push(await converse(conversation, line.trim(), sinks));
  return outcomes;
}
