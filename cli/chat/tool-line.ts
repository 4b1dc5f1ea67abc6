import { shorten } from "../app/columns.ts";
import type { RunStep } from "./run-view.ts";
import { printable } from "./text-width.ts";
import { shortArguments } from "./transcript-view.ts";

/** One line for a tool call: the tool, its arguments in short, and how it went; a failure says why. */
export function toolLine(step: Extract<RunStep, { kind: "tool" | "calling" }>): string {
  const call = `⏵ ${step.tool} ${shortArguments(step.args)}`.trimEnd();
  if (step.kind === "calling") return printable(`${call} …`);
  return printable(step.isError ? `${call} ✗ ${shorten(step.preview, 160)}` : `${call} ✓`);
}
