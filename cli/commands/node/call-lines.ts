import { commandResult } from "../../../shared/session/results/command-result.ts";
import { toolLine } from "../../chat/progress/tool-line.ts";
import type { CallChange } from "../../node/running-calls.ts";

/** A call of this time is worth a line before it has ended, ms. */
const soonMs = 1000;

/**
 * Tells the terminal of a node what the node runs: a line for each call that has ended, and one before for a call that takes
 * a while. Returns what takes notice of calls.
 */
export function callLines(print: (line: string) => void, waitMs = soonMs): (change: CallChange) => void {
  const running = new Map<string, NodeJS.Timeout>();
  return ({ outcome, ...call }) => {
    if (outcome === undefined) {
      const line = toolLine({ kind: "calling", ...call });
      running.set(
        call.callId,
        setTimeout(() => print(line), waitMs),
      );
      return;
    }
    clearTimeout(running.get(call.callId));
    running.delete(call.callId);
    const isError = "error" in outcome;
    const report = isError ? undefined : commandResult(outcome.result);
    const command = report && { failure: report.failure, durationMs: report.durationMs };
    // Of what came no more is shown than the exit: it is the agent's.
    const preview = isError ? outcome.error : "";
    print(toolLine({ kind: "tool", ...call, isError, preview, ...(command ? { command } : {}) }));
  };
}
