import type { RunToolResult } from "../protocol/events.ts";
import { isRecord } from "../protocol/is-record.ts";
import type { ImageBlock, TextBlock, ToolCallBlock, ToolResultMessage } from "../protocol/messages.ts";
import type { CallOutcome } from "./calls.ts";

/** Maximum length of the preview of a result for clients, in characters. */
const previewLength = 500;

/**
 * A tool's outcome as a message for the model: a string unchanged, blocks as blocks, anything else as JSON. A failed command
 * is an error that contains its report. Images are references: `recordResult` has stored them.
 */
export function toResultMessage(call: ToolCallBlock, outcome: CallOutcome, now: number): ToolResultMessage {
  const failed = outcome.error !== undefined;
  return {
    role: "toolResult",
    toolCallId: call.id,
    toolName: call.name,
    content: failed
      ? [{ type: "text", text: `Error: ${outcome.error}` }]
      : blocksOf(withoutRepeatedTail(outcome.result)),
    isError: failed || isRefusal(outcome.result) || commandResult(outcome.result)?.failure !== undefined,
    timestamp: now,
  };
}

/** Native tools report failures as `{ok: false, error}`. */
function isRefusal(result: unknown): boolean {
  return typeof result === "object" && result !== null && "ok" in result && result.ok === false;
}

function blocksOf(result: unknown): (TextBlock | ImageBlock)[] {
  if (typeof result === "string") return [{ type: "text", text: result }];
  const content = (result as { content?: unknown } | null | undefined)?.content;
  if (Array.isArray(content) && content.length > 0 && content.every(isBlock)) return content;
  return [{ type: "text", text: JSON.stringify(result ?? null) }];
}

function isBlock(value: unknown): value is TextBlock | ImageBlock {
  if (typeof value !== "object" || value === null) return false;
  const block = value as Record<string, unknown>;
  if (block.type === "text") return typeof block.text === "string";
  return block.type === "image" && typeof block.r2Key === "string" && typeof block.mimeType === "string";
}

/** The event that announces the result of a session's tool call. For a command, `preview` is the start of its output. */
export function toolResultEvent(
  sessionKey: string,
  runId: string,
  call: Pick<ToolCallBlock, "id" | "name" | "arguments">,
  message: ToolResultMessage,
): RunToolResult {
  const text = message.content
    .map((block) => (block.type === "text" ? block.text : `[${block.mimeType}]`))
    .join("\n");
  const command = commandIn(text);
  return {
    sessionKey,
    runId,
    callId: call.id,
    tool: call.name,
    args: call.arguments,
    isError: message.isError,
    preview: (command?.output ?? text).slice(0, previewLength).toWellFormed(),
    ...(command ? { command: { failure: command.failure, durationMs: command.durationMs } } : {}),
  };
}

/** The command report in a result's text; undefined when there is none. */
function commandIn(text: string): CommandResult | undefined {
  if (!text.startsWith("{")) return undefined;
  try {
    return commandResult(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** The result of a command that has ended, for display. */
export interface CommandResult {
  /** Standard output and standard error together; only a part when it is long. */
  output: string;
  /** How it failed: `exit 3`, `SIGTERM`, `timed out`. Absent when it ended with exit code 0. */
  failure?: string;
  /** Milliseconds. */
  durationMs?: number;
}

/**
 * Reads a node's report on a command that has ended (docs/reference/protocol.md, "Tools", Bash and Process). Undefined for any
 * other result, and while the command runs.
 */
export function commandResult(result: unknown): CommandResult | undefined {
  if (!isRecord(result) || typeof result.output !== "string") return undefined;
  const { status, output, durationMs } = result;
  if (status !== "completed" && status !== "failed") return undefined;
  return {
    output,
    ...(status === "failed" ? { failure: failureOf(result) } : {}),
    ...(typeof durationMs === "number" ? { durationMs } : {}),
  };
}

/**
 * The report without `tail`, in which nodes of an earlier version repeat the end of `output`. Any other result is returned
 * unchanged.
 */
function withoutRepeatedTail(result: unknown): unknown {
  if (!isRecord(result) || commandResult(result) === undefined) return result;
  const { tail, ...rest } = result;
  return typeof tail === "string" && String(rest.output).endsWith(tail) ? rest : result;
}

function failureOf({ timedOut, signal, exitCode }: Record<string, unknown>): string {
  if (timedOut === true) return "timed out";
  if (typeof signal === "string") return signal;
  return typeof exitCode === "number" ? `exit ${exitCode}` : "failed";
}
