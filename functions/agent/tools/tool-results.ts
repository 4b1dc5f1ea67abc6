import type { RunToolResult } from "../../../shared/protocol/events.ts";
import {
  type AssistantMessage,
  type ImageBlock,
  type TextBlock,
  type ToolCallBlock,
  type ToolResultMessage,
  toolCallsOf,
} from "../../../shared/protocol/messages.ts";
import type { CallOutcome, Outcomes } from "../../../shared/session/calls.ts";
import type { Run } from "../../../shared/session/run.ts";
import type { Agent } from "../agent.ts";

/** Longest preview of a result that clients are shown, in characters. */
const previewLength = 500;

/** The results of a step's calls as messages, one for each call in the same order. */
export function toResultMessages(
  run: Pick<Run, "timedOut" | "deadline">,
  calls: readonly ToolCallBlock[],
  outcomes: Outcomes,
  now: number,
): ToolResultMessage[] {
  const late = new Set(run.timedOut ?? []);
  const by = run.deadline ? ` (by ${new Date(run.deadline).toISOString()})` : "";
  const timedOut = {
    error: `the tool did not answer in time${by}; its machine was told to end it, if it can do that`,
  };
  return calls.map((call) => {
    const known = late.has(call.id) ? undefined : outcomes.get(call.id);
    const outcome = known === "interrupted" ? { error: "interrupted, outcome unknown" } : (known ?? timedOut);
    return toResultMessage(call, outcome, now);
  });
}

/**
 * How a tool's outcome reaches the model: a string as it is, blocks as blocks, anything else as JSON. Images are
 * references by now: `recordResult` has stored them.
 */
function toResultMessage(call: ToolCallBlock, outcome: CallOutcome, now: number): ToolResultMessage {
  const failed = outcome.error !== undefined;
  return {
    role: "toolResult",
    toolCallId: call.id,
    toolName: call.name,
    content: failed ? [{ type: "text", text: `Error: ${outcome.error}` }] : blocksOf(outcome.result),
    isError: failed || isRefusal(outcome.result),
    timestamp: now,
  };
}

/** Native tools say `{ok: false, error}` themselves. */
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

/** Announces to clients what the calls of a reply returned. `results`: one for each call, in the same order. */
export async function announceResults(
  { broadcast }: Pick<Agent, "broadcast">,
  sessionKey: string,
  runId: string,
  reply: AssistantMessage,
  results: readonly ToolResultMessage[],
  listeners: Promise<readonly string[]>,
): Promise<void> {
  const clients = await listeners;
  for (const [i, call] of toolCallsOf(reply).entries()) {
    const result = results[i];
    if (!result) continue;
    const event = toolResultEvent(sessionKey, runId, call, result);
    await broadcast.send(clients, "tool.result", event, { ...event, args: {} });
  }
}

/** The event that announces what a session's tool call returned. */
function toolResultEvent(
  sessionKey: string,
  runId: string,
  call: Pick<ToolCallBlock, "id" | "name" | "arguments">,
  message: ToolResultMessage,
): RunToolResult {
  const text = message.content
    .map((block) => (block.type === "text" ? block.text : `[${block.mimeType}]`))
    .join("\n");
  return {
    sessionKey,
    runId,
    callId: call.id,
    tool: call.name,
    args: call.arguments,
    isError: message.isError,
    preview: text.slice(0, previewLength).toWellFormed(),
  };
}
