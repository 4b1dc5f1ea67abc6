import type { AssistantMessage, Message } from "../protocol/messages.ts";
import { repairTranscript } from "../wire/repair-transcript.ts";
import { toWire } from "../wire/wire-messages.ts";
import type { ExportedConversation } from "./adapter.ts";
import { textsOf } from "./chat-texts.ts";

/** A message of OpenAI's chat completions. */
type ChatMessage =
  | { role: "user"; content: string }
  | { role: "assistant"; content: string | null; tool_calls?: ChatCall[] }
  | { role: "tool"; tool_call_id: string; content: string };

interface ChatCall {
  id: string;
  type: "function";
  function: { name: string; arguments: string };
}

const reader = { api: "openai-completions" };
/** The strictest of the servers that speak this format: turns alternate, as Mistral's models want them. */
const rules = { callId: /^[A-Za-z0-9_-]{1,40}$/, alternates: true };

/**
 * A message a line, as chat completions take them in `messages`. The system prompt is not among them. Thoughts are left
 * out, images are notes, and a call without a result has one that says so.
 */
export function* toOpenAi({ messages }: Pick<ExportedConversation, "messages">): Generator<ChatMessage> {
  for (const message of toWire(repairTranscript(messages), reader, rules)) {
    const chat = toChatMessage(message);
    if (chat) yield chat;
  }
}

function toChatMessage(message: Message): ChatMessage | undefined {
  switch (message.role) {
    case "user":
      return { role: "user", content: textsOf(message.content).join("\n\n") };
    case "toolResult":
      return {
        role: "tool",
        tool_call_id: message.toolCallId,
        content: textsOf(message.content).join("\n"),
      };
    case "assistant":
      return toReply(message);
  }
}

/** Undefined for a reply of thoughts alone. */
function toReply({ content }: AssistantMessage): ChatMessage | undefined {
  const text = textsOf(content.filter((block) => block.type === "text")).join("\n\n");
  const calls = content.flatMap((block): ChatCall[] =>
    block.type === "toolCall"
      ? [
          {
            id: block.id,
            type: "function",
            function: { name: block.name, arguments: JSON.stringify(block.arguments) },
          },
        ]
      : [],
  );
  if (text === "" && calls.length === 0) return undefined;
  return {
    role: "assistant",
    content: text === "" ? null : text,
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  };
}
