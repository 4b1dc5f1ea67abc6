import type { CommandResult } from "../../shared/session/result-message.ts";
import { secondsText, shorten } from "../app/columns.ts";
import type { RunStep } from "./run-view.ts";

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

const mainArguments = ["command", "path", "pattern", "action", "query", "url"];

/**
 * Formats a call's arguments in at most `max` characters: only the `mainArguments` when present, else all as JSON.
 */
export function shortArguments(args: unknown, max = 72): string {
  if (args === undefined || args === null) return "";
  const named = new Map(typeof args === "object" ? Object.entries(args) : []);
  const main = mainArguments.map((name) => named.get(name)).filter((value) => typeof value === "string");
  if (main.length > 0) return shorten(main.join(" "), max);
  return typeof args === "object" && named.size === 0 ? "" : shorten(JSON.stringify(args), max);
}

/** How a command ended: `✓ 3.2 s`, `✗ exit 3 after 3.2 s`. A time below a second is omitted. */
export function commandEnding({ failure, durationMs = 0 }: Omit<CommandResult, "output">): string {
  const time = durationMs >= 1000 ? secondsText(durationMs) : undefined;
  const ending = failure === undefined ? ["✓", time] : ["✗", failure, time && `after ${time}`];
  return ending.filter((part) => part !== undefined).join(" ");
}
