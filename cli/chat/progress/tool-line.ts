import { shorten } from "../../app/columns.ts";
import { commandEnding, shortArguments } from "../call-text.ts";
import type { RunStep } from "../run-view.ts";

/** The text for an incomplete answer. */
export const cutLine = "the answer was cut off: it reached the model's limit of output tokens";

/** Formats why the model request is retried, and when. */
export function waitingLine({ reason, seconds }: Extract<RunStep, { kind: "waiting" }>): string {
  const why = shorten(reason.replace(/^LLM error: /, ""), 200);
  return why.endsWith("?") ? `${why} Trying again in ${seconds} s` : `${why}, trying again in ${seconds} s`;
}

/**
 * Formats a tool call as one line: tool, short arguments, and how it ended. For a command: exit code, time (from one
 * second) and the first line of its output. For another call that failed: its error.
 */
export function toolLine(step: Extract<RunStep, { kind: "tool" | "calling" }>): string {
  const call = `⏵ ${step.tool} ${shortArguments(step.args)}`.trimEnd();
  if (step.kind === "calling") return `${call} …`;
  const { isError, preview, command } = step;
  if (command === undefined)
    return isError ? `${call} ✗ ${shorten(preview, 160)}` : `${call} ${successText(step.args)}`;
  const first = preview.split("\n").find((line) => line.trim() !== "");
  const ending = commandEnding(command);
  return first === undefined ? `${call} ${ending}` : `${call} ${ending}: ${shorten(first, 120)}`;
}

/** The mark of a successful call that reports no command's end. A background command is still running. */
function successText(args: unknown): string {
  const isOfBackground =
    typeof args === "object" && args !== null && "background" in args && args.background === true;
  return isOfBackground ? "✓ runs in the background" : "✓";
}
