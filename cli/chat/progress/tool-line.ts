import { shorten } from "../../app/columns.ts";
import { commandEnding, shortArguments } from "../call-text.ts";
import type { RunStep } from "../run-view.ts";

/** Tells that an answer ends in the middle. */
export const cutLine = "the answer was cut off: it reached the model's limit of output tokens";

/** Formats why the model is asked again, and when. */
export function waitingLine({ reason, seconds }: Extract<RunStep, { kind: "waiting" }>): string {
  const why = shorten(reason.replace(/^LLM error: /, ""), 200);
  return why.endsWith("?") ? `${why} Trying again in ${seconds} s` : `${why}, trying again in ${seconds} s`;
}

/**
 * Formats a tool call as one line: tool, short arguments, and how it ended. Of a command that is its exit, the time that
 * it took from a second on, and the first line of its output; of another call that failed the text of its error.
 */
export function toolLine(step: Extract<RunStep, { kind: "tool" | "calling" }>): string {
  const call = `⏵ ${step.tool} ${shortArguments(step.args)}`.trimEnd();
  if (step.kind === "calling") return `${call} …`;
  const { isError, preview, command } = step;
  if (command === undefined)
    return isError ? `${call} ✗ ${shorten(preview, 160)}` : `${call} ${begun(step.args)}`;
  const first = preview.split("\n").find((line) => line.trim() !== "");
  const said = commandEnding(command);
  return first === undefined ? `${call} ${said}` : `${call} ${said}: ${shorten(first, 120)}`;
}

/** How a call went that came back well without the end of a command: of one for the background, the command goes on. */
function begun(args: unknown): string {
  const isOfBackground =
    typeof args === "object" && args !== null && "background" in args && args.background === true;
  return isOfBackground ? "✓ runs in the background" : "✓";
}
