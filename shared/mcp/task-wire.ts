import { isRecord } from "../protocol/is-record.ts";
import { McpFault, wordsOf } from "./mcp-fault.ts";

/** The extension by which a server answers a call with a task (MCP 2026-07-28, SEP-2663). */
export const taskExtension = "io.modelcontextprotocol/tasks";

/** Bounds of the interval at which a task is asked about, and the interval of a server that names none. Milliseconds. */
const minPollMs = 1000;
const maxPollMs = 3_600_000;
const defaultPollMs = 60_000;

/** The state of a task at a server. */
export type RemoteTask = { taskId: string; pollMs: number } & (
  | { status: "working"; message?: string }
  | { status: "input_required"; requests: Record<string, unknown> }
  | { status: "completed"; result: unknown }
  /** `reason`: in words. */
  | { status: "failed" | "cancelled"; reason: string }
);

/** Whether the result of a call is a task. */
export function isTaskResult(result: unknown): boolean {
  return isRecord(result) && result.resultType === "task";
}

/** A task as `tools/call` or `tasks/get` describes it. @throws McpFault when it describes none */
export function toTask(result: unknown): RemoteTask {
  const { taskId, status, pollIntervalMs, ...rest } = isRecord(result) ? result : {};
  if (typeof taskId !== "string" || taskId === "" || taskId.length > 1000)
    throw new McpFault("the server described a task without an id: tell its operator");
  const asked = typeof pollIntervalMs === "number" && pollIntervalMs > 0 ? pollIntervalMs : defaultPollMs;
  const task = { taskId, pollMs: Math.min(maxPollMs, Math.max(minPollMs, asked)) };
  const { statusMessage } = rest;
  const message = typeof statusMessage === "string" ? wordsOf(statusMessage) : undefined;
  switch (status) {
    case "completed":
      return { ...task, status, result: rest.result };
    case "failed":
    case "cancelled": {
      const { message: said } = isRecord(rest.error) ? rest.error : {};
      return {
        ...task,
        status,
        reason: message ?? (said === undefined ? "it gave no reason" : wordsOf(said)),
      };
    }
    case "input_required":
      return { ...task, status, requests: isRecord(rest.inputRequests) ? rest.inputRequests : {} };
    default:
      return { ...task, status: "working", ...(message === undefined ? {} : { message }) };
  }
}
