import * as v from "valibot";
import { type OpenAiFault, openAiShapeFault } from "./openai-error.ts";
import { checkShape, stringOr } from "./request-shape.ts";

const textPart = v.object({ type: v.literal("text"), text: v.string() });
const userPart = v.variant("type", [
  textPart,
  v.object({ type: v.literal("image_url"), image_url: v.object({ url: v.string() }) }),
  v.object({
    type: v.literal("input_audio"),
    input_audio: v.object({ data: v.string(), format: v.string() }),
  }),
  v.object({ type: v.literal("file"), file: v.record(v.string(), v.unknown()) }),
]);
const texts = stringOr(v.array(textPart));
const toolCall = v.object({
  id: v.string(),
  type: v.literal("function"),
  function: v.object({ name: v.string(), arguments: v.string() }),
});
const message = v.variant("role", [
  v.object({ role: v.literal("system"), content: texts }),
  v.object({ role: v.literal("developer"), content: texts }),
  v.object({ role: v.literal("user"), content: stringOr(v.array(userPart)) }),
  v.object({
    role: v.literal("assistant"),
    content: v.optional(v.nullable(texts)),
    tool_calls: v.optional(v.array(toolCall)),
  }),
  v.object({ role: v.literal("tool"), content: texts, tool_call_id: v.string() }),
]);
const tool = v.object({
  type: v.literal("function"),
  function: v.object({
    name: v.string(),
    description: v.optional(v.string()),
    parameters: v.optional(v.record(v.string(), v.unknown())),
  }),
});
const chatRequest = v.object({
  model: v.string(),
  messages: v.pipe(v.array(message), v.minLength(1)),
  tools: v.optional(v.array(tool)),
  tool_choice: v.optional(v.union([v.string(), v.record(v.string(), v.unknown())])),
  stream: v.optional(v.nullable(v.boolean())),
  stream_options: v.optional(v.nullable(v.object({ include_usage: v.optional(v.boolean()) }))),
});

/** A chat completions request (API reference, "Create chat completion"), the fields that are used here. */
export type ChatRequest = v.InferOutput<typeof chatRequest>;
export type ChatMessage = ChatRequest["messages"][number];

/**
 * Reads a request body. Refuses what the service refuses whatever the model: a wrong shape, an assistant message
 * with neither text nor tool calls, a tool call without its tool message, a tool message without its call.
 */
export function readChatRequest(
  body: unknown,
): { ok: true; request: ChatRequest } | { ok: false; fault: OpenAiFault } {
  const shaped = checkShape(chatRequest, body);
  if (!shaped.ok) return { ok: false, fault: openAiShapeFault(shaped.fault) };
  const request = shaped.value;
  const fault = streamOptionsFault(request) ?? turnFault(request.messages);
  return fault ? { ok: false, fault } : { ok: true, request };
}

/** The text of a message, its parts joined by line breaks; empty when there is none. */
export function messageText(content: ChatMessage["content"]): string {
  if (typeof content === "string") return content;
  return (content ?? []).flatMap((part) => ("text" in part ? [part.text] : [])).join("\n");
}

function streamOptionsFault(request: ChatRequest): OpenAiFault | undefined {
  if (!request.stream_options || request.stream) return undefined;
  return {
    message: "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
    param: "stream_options",
  };
}

function turnFault(messages: ChatMessage[]): OpenAiFault | undefined {
  let asked = new Set<string>();
  let open = new Set<string>();
  for (const [i, message] of messages.entries()) {
    if (message.role === "tool") {
      const fault = toolMessageFault(message.tool_call_id, asked, i);
      if (fault) return fault;
      open.delete(message.tool_call_id);
      continue;
    }
    if (open.size > 0) return unanswered(open);
    asked = new Set(message.role === "assistant" ? message.tool_calls?.map((call) => call.id) : []);
    open = new Set(asked);
    if (message.role === "assistant" && message.content == null && asked.size === 0)
      return {
        message: "Invalid value for 'content': expected a string, got null.",
        param: `messages.[${i}].content`,
      };
  }
  return open.size > 0 ? unanswered(open) : undefined;
}

function toolMessageFault(id: string, asked: Set<string>, index: number): OpenAiFault | undefined {
  if (asked.size === 0)
    return {
      message:
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
      param: `messages.[${index}].role`,
    };
  if (asked.has(id)) return undefined;
  return {
    message: `Invalid parameter: 'tool_call_id' of '${id}' not found in 'tool_calls' of previous message.`,
    param: `messages.[${index}].tool_call_id`,
  };
}

function unanswered(ids: Set<string>): OpenAiFault {
  return {
    message: `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${[...ids].join(", ")}`,
    param: "messages",
  };
}
