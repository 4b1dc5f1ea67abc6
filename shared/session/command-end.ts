import { createHash } from "node:crypto";
import * as v from "valibot";
import type { CommandResult } from "./result-message.ts";

/**
 * The id of the message that reports the end of a background command to a session, and of the run that answers it. A
 * command ends once, so all events that report its end have the same id.
 */
export function commandEndId(nodeId: string, sessionId: string, callId: string): string {
  const digest = createHash("sha256")
    .update(JSON.stringify([nodeId, sessionId, callId]))
    .digest("hex");
  return `exec-${digest.slice(0, 40)}`;
}

/** Whether a run answers the end of a background command. For display only: clients choose the ids of their own runs. */
export function isCommandEnd(runId: string): boolean {
  return /^exec-[0-9a-f]{40}$/.test(runId);
}

const title = "System event: async_exec_completion\n";

/** The end of a background command, as its node reported it. Times are epoch ms. */
const commandEnd = v.object({
  nodeId: v.string(),
  event: v.picklist(["finished", "failed", "timed_out"]),
  exitCode: v.nullish(v.number()),
  signal: v.nullish(v.string()),
  outputTail: v.optional(v.string(), ""),
  startedAt: v.nullish(v.number()),
  endedAt: v.nullish(v.number()),
});

/** The text of the message that reports a background command's end to a session (docs/background-commands.md). */
export function commandEndText(report: object): string {
  return `${title}${JSON.stringify(report)}`;
}

/**
 * Parses a text that {@link commandEndText} wrote. Undefined for any other text. For display only: a person can write such
 * a text.
 */
export function readCommandEnd(text: string): { nodeId: string; result: CommandResult } | undefined {
  const report = text.startsWith(title)
    ? v.safeParse(commandEnd, parsed(text.slice(title.length)))
    : undefined;
  if (!report?.success) return undefined;
  const { nodeId, outputTail, startedAt, endedAt } = report.output;
  const failure = failureOf(report.output);
  return {
    nodeId,
    result: {
      output: outputTail,
      ...(failure === undefined ? {} : { failure }),
      ...(typeof startedAt === "number" && typeof endedAt === "number"
        ? { durationMs: endedAt - startedAt }
        : {}),
    },
  };
}

function failureOf({ event, exitCode, signal }: v.InferOutput<typeof commandEnd>): string | undefined {
  if (event === "timed_out") return "timed out";
  if (event === "finished" && !exitCode) return undefined;
  return signal ?? (typeof exitCode === "number" ? `exit ${exitCode}` : "failed");
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
