import { shorten } from "../app/columns.ts";
import type { RunStep } from "./run-view.ts";
import { shortArguments } from "./transcript-view.ts";

/** Tells that an answer ends in the middle. */
export const cutLine = "the answer was cut off: it reached the model's limit of output tokens";

/** Formats why the model is asked again, and when. */
export function waitingLine({ reason, seconds }: Extract<RunStep, { kind: "waiting" }>): string {
  return `${shorten(reason, 200)}; asking again in ${seconds} s`;
}

/** Formats a tool call as one line: tool, short arguments, outcome, and the error text of a failure. */
export function toolLine(step: Extract<RunStep, { kind: "tool" | "calling" }>): string {
  const call = `⏵ ${step.tool} ${shortArguments(step.args)}`.trimEnd();
  if (step.kind === "calling") return `${call} …`;
  return step.isError ? `${call} ✗ ${shorten(step.preview, 160)}` : `${call} ✓`;
}
