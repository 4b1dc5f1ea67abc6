import { shorten } from "../app/columns.ts";
import type { RunStep } from "./run-view.ts";
import { shortArguments } from "./transcript-view.ts";

/** Formats a tool call as one line: tool, short arguments, outcome, and the error text of a failure. */
export function toolLine(step: Extract<RunStep, { kind: "tool" | "calling" }>): string {
  const call = `⏵ ${step.tool} ${shortArguments(step.args)}`.trimEnd();
  if (step.kind === "calling") return `${call} …`;
  return step.isError ? `${call} ✗ ${shorten(step.preview, 160)}` : `${call} ✓`;
}
