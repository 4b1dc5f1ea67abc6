import type { AssistantMessage, Message } from "../protocol/messages.ts";
import { repairTranscript } from "../wire/repair-transcript.ts";
import { toWire } from "../wire/wire-messages.ts";
import type { ExportedConversation } from "./adapter.ts";
import { textsOf } from "./chat-texts.ts";

type Text = { type: "text"; text: string };
type Block =
  | Text
  | { type: "thinking"; thinking: string; signature: string }
  | { type: "redacted_thinking"; data: string }
  | { type: "tool_use"; id: string; name: string; input: unknown }
  | { type: "tool_result"; tool_use_id: string; content: Text[]; is_error?: true };

/** A message of Anthropic's Messages API. */
interface AnthropicMessage {
  role: "user" | "assistant";
  content: Block[];
}

const reader = { api: "anthropic-messages", provider: "anthropic" };
const rules = { callId: /^[A-Za-z0-9_-]{1,64}$/, alternates: true };

/**
 * A message a line, as the Messages API takes them in `messages`. The system prompt is not among them. Thoughts that the
 * API has signed are kept, others left out; images are notes, and a call without a result has one that says so.
 */
export function* toAnthropic({
  messages,
}: Pick<ExportedConversation, "messages">): Generator<AnthropicMessage> {
  let open: AnthropicMessage | undefined;
  for (const message of toWire(repairTranscript(messages), reader, rules)) {
    const role = message.role === "assistant" ? "assistant" : "user";
    const content = blocksOf(message);
    if (content.length === 0) continue;
    // The results of one reply belong into one message.
    if (open?.role === role) {
      open.content.push(...content);
      continue;
    }
    if (open) yield open;
    open = { role, content };
  }
  if (open) yield open;
}

function blocksOf(message: Message): Block[] {
  switch (message.role) {
    case "user":
      return texts(message.content);
    case "assistant":
      return replyBlocks(message);
    case "toolResult":
      return [
        {
          type: "tool_result",
          tool_use_id: message.toolCallId,
          content: texts(message.content),
          ...(message.isError ? { is_error: true } : {}),
        },
      ];
  }
}

function texts(content: Parameters<typeof textsOf>[0]): Text[] {
  return textsOf(content).map((text) => ({ type: "text", text }));
}

function replyBlocks({ content, api }: AssistantMessage): Block[] {
  return content.flatMap((block): Block[] => {
    if (block.type === "text") return texts([block]);
    if (block.type === "toolCall")
      return [{ type: "tool_use", id: block.id, name: block.name, input: block.arguments }];
    const { thinking, thinkingSignature: signature, redacted } = block;
    if (api !== reader.api || !signature) return [];
    return redacted
      ? [{ type: "redacted_thinking", data: signature }]
      : [{ type: "thinking", thinking, signature }];
  });
}
