import type { RunToolResult } from "../../../shared/protocol/events.ts";
import type {
  ImageBlock,
  Message,
  TextBlock,
  ToolCallBlock,
  ToolResultMessage,
} from "../../../shared/protocol/messages.ts";
import type { CallOutcome } from "../../../shared/session/calls.ts";
import { shorten } from "../compaction/compaction-prompts.ts";

/** Most text of one tool result that a model is shown, in characters: some 50,000 tokens. */
export const maxShownResult = 200_000;

/** Longest preview of a result that clients are shown, in characters. */
const previewLength = 500;

/**
 * How a tool's outcome reaches the model: a string as it is, blocks as blocks, anything else as JSON. Images are
 * references by now: `recordResult` has stored them.
 */
export function toResultMessage(call: ToolCallBlock, outcome: CallOutcome, now: number): ToolResultMessage {
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

/**
 * What a model is shown of messages: of a tool's result that is very long the beginning and the end, with a note of how
 * much is left out. The transcript keeps it whole.
 */
export function shownMessages(messages: readonly Message[]): readonly Message[] {
  return messages.map((message) => {
    if (message.role !== "toolResult") return message;
    const length = message.content.reduce((sum, block) => sum + textLength(block), 0);
    if (length <= maxShownResult) return message;
    const share = maxShownResult / length;
    const shown = (block: TextBlock | ImageBlock) =>
      block.type === "text"
        ? { ...block, text: shorten(block.text, Math.floor(block.text.length * share)) }
        : block;
    return { ...message, content: message.content.map(shown) };
  });
}

function textLength(block: TextBlock | ImageBlock): number {
  return block.type === "text" ? block.text.length : 0;
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

/** The event that tells clients what a session's tool call returned. */
export function toolResultEvent(
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
