import * as v from "valibot";
import { thinkingFault } from "./anthropic-thinking.ts";
import { checkShape, type ShapeFault, stringOr } from "./openai-wire/request-shape.ts";
import type { Turn } from "./scripted-model.ts";

const id = v.pipe(v.string(), v.regex(/^[a-zA-Z0-9_-]+$/));
const text = v.object({ type: v.literal("text"), text: v.string(), cache_control: v.optional(v.unknown()) });
const image = v.object({
  type: v.literal("image"),
  source: v.variant("type", [
    v.object({
      type: v.literal("base64"),
      media_type: v.picklist(["image/jpeg", "image/png", "image/gif", "image/webp"]),
      data: v.pipe(v.string(), v.minLength(1)),
    }),
    v.object({ type: v.literal("url"), url: v.string() }),
  ]),
  cache_control: v.optional(v.unknown()),
});
const block = v.variant("type", [
  text,
  image,
  v.object({ type: v.literal("thinking"), thinking: v.string(), signature: v.string() }),
  v.object({ type: v.literal("redacted_thinking"), data: v.string() }),
  v.object({
    type: v.literal("tool_use"),
    id,
    name: v.pipe(v.string(), v.regex(/^[a-zA-Z0-9_-]{1,128}$/)),
    input: v.record(v.string(), v.unknown()),
    cache_control: v.optional(v.unknown()),
  }),
  v.object({
    type: v.literal("tool_result"),
    tool_use_id: id,
    content: v.optional(stringOr(v.array(v.variant("type", [text, image])))),
    is_error: v.optional(v.boolean()),
    cache_control: v.optional(v.unknown()),
  }),
]);
const tool = v.object({
  name: v.pipe(v.string(), v.regex(/^[a-zA-Z0-9_-]{1,128}$/)),
  description: v.optional(v.string()),
  input_schema: v.looseObject({ type: v.literal("object") }),
  cache_control: v.optional(v.unknown()),
});
const request = v.object({
  model: v.pipe(v.string(), v.minLength(1)),
  max_tokens: v.pipe(v.number(), v.integer(), v.minValue(1)),
  messages: v.pipe(
    v.array(
      v.object({ role: v.picklist(["user", "assistant", "system"]), content: stringOr(v.array(block)) }),
    ),
    v.minLength(1),
  ),
  system: v.optional(stringOr(v.array(text))),
  tools: v.optional(v.array(tool)),
  thinking: v.optional(
    v.object({
      type: v.picklist(["enabled", "disabled", "adaptive"]),
      budget_tokens: v.optional(v.number()),
    }),
  ),
  temperature: v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(1))),
  stream: v.optional(v.boolean()),
});

const KNOWN = new Set([
  ...["model", "max_tokens", "messages", "system", "tools", "tool_choice", "stream", "temperature", "top_p"],
  ...["top_k", "stop_sequences", "metadata", "thinking", "output_config", "service_tier", "container"],
  ...["mcp_servers", "context_management", "cache_control", "fallbacks", "inference_geo", "speed"],
]);

/** The checked fields of a request to the Messages API (API reference, "Create a Message"). */
export type MessagesRequest = v.InferOutput<typeof request>;
type Message = MessagesRequest["messages"][number];
type Block = v.InferOutput<typeof block>;

/** Reads a request body; the fault is the service's error message for it. */
export function readMessagesRequest(
  body: unknown,
): { ok: true; request: MessagesRequest } | { ok: false; fault: string } {
  const shaped = checkShape(request, body);
  if (!shaped.ok) return { ok: false, fault: describe(shaped.fault, body) };
  const fault =
    unknownField(body) ??
    toolsFault(shaped.value) ??
    cacheFault(shaped.value) ??
    turnsFault(shaped.value) ??
    thinkingFault(shaped.value);
  return fault ? { ok: false, fault } : { ok: true, request: shaped.value };
}

/** The conversation in the form that is common to all wire formats. */
export function messagesTurns(messages: Message[]): Turn[] {
  return messages.flatMap((message): Turn[] => {
    if (message.role === "system") return [];
    const blocks = blocksOf(message);
    const text = blocks.flatMap((one) => (one.type === "text" ? [one.text] : [])).join("\n");
    const toolCalls = blocks.flatMap((one) =>
      one.type === "tool_use" ? [{ id: one.id, name: one.name, arguments: one.input }] : [],
    );
    const results = blocks.flatMap((one): Turn[] =>
      one.type === "tool_result"
        ? [
            {
              role: "tool",
              toolCallId: one.tool_use_id,
              text: plain(one.content),
              isError: one.is_error ?? false,
            },
          ]
        : [],
    );
    if (results.length > 0 && text === "") return results;
    return [...results, { role: message.role, text, ...(toolCalls.length > 0 && { toolCalls }) }];
  });
}

/** A string or a list of blocks as plain text. */
export function plain(content: string | { type: string; text?: string }[] | undefined): string {
  if (typeof content === "string") return content;
  return (content ?? []).flatMap((part) => (part.text === undefined ? [] : [part.text])).join("\n");
}

function blocksOf(message: Message): Block[] {
  return typeof message.content === "string" ? [{ type: "text", text: message.content }] : message.content;
}

function describe(fault: ShapeFault, body: unknown): string {
  const path = fault.path.join(".");
  if (path === "")
    return body === undefined ? "The request body is not valid JSON" : "Input should be an object";
  const named = path.replace(/^tools\.(\d+)\./, "tools.$1.custom.");
  if (fault.missing) return `${named}: Field required`;
  if (fault.path.at(-1) === "messages") return "messages: at least one message is required";
  if (fault.check === "regex")
    return `${named}: String should match pattern '${fault.expected.slice(1, -1)}'`;
  if (fault.check === "min_value")
    return `${named}: Input should be greater than or equal to ${fault.expected.slice(2)}`;
  return `${named}: Input should be ${fault.expected}`;
}

function unknownField(body: unknown): string | undefined {
  const extra = Object.keys(body as object).find((key) => !KNOWN.has(key));
  return extra && `${extra}: Extra inputs are not permitted`;
}

function toolsFault(request: MessagesRequest): string | undefined {
  const names = (request.tools ?? []).map((one) => one.name);
  if (new Set(names).size < names.length) return "tools: Tool names must be unique.";
  const used = request.messages.some((message) => blocksOf(message).some((one) => one.type === "tool_use"));
  if (used && names.length === 0)
    return "Requests which include `tool_use` or `tool_result` blocks must define tools";
  return undefined;
}

function cacheFault(request: MessagesRequest): string | undefined {
  const holders = [
    ...(request.tools ?? []),
    ...(Array.isArray(request.system) ? request.system : []),
    ...request.messages.flatMap(blocksOf),
  ];
  const marked = holders.filter((one) => "cache_control" in one && one.cache_control != null).length;
  if (marked <= 4) return undefined;
  return `A maximum of 4 blocks with cache_control may be provided. Found ${marked}.`;
}

/** Consecutive messages of one role are one turn; a tool's results come first in the turn after it. */
function turnsFault(request: MessagesRequest): string | undefined {
  const { messages } = request;
  if (messages[0]?.role !== "user") return 'messages: first message must use the "user" role';
  const spoken = messages.filter((message) => message.role !== "system");
  if (spoken.at(-1)?.role === "assistant")
    return "This model does not support assistant message prefill. The conversation must end with a user message.";
  const ids = messages.flatMap(toolUses);
  if (new Set(ids).size < ids.length) return "messages: `tool_use` ids must be unique";
  for (const [i, message] of messages.entries()) {
    const fault = contentFault(message, i) ?? pairingFault(messages, i);
    if (fault) return fault;
  }
  return undefined;
}

function contentFault(message: Message, i: number): string | undefined {
  const blocks = blocksOf(message);
  if (message.role === "system") return undefined;
  if (blocks.length === 0) return `messages.${i}: all messages must have non-empty content`;
  if (message.role === "assistant" && blocks.at(-1)?.type.endsWith("thinking"))
    return `messages.${i}: The final block in an assistant message cannot be \`thinking\`.`;
  if (blocks.some((one) => one.type === "text" && one.text === ""))
    return "messages: text content blocks must be non-empty";
  if (blocks.some((one) => one.type === "text" && one.text.trim() === ""))
    return "messages: text content blocks must contain non-whitespace text";
  return undefined;
}

function pairingFault(messages: Message[], i: number): string | undefined {
  const asked = toolUses(messages[i - 1]);
  const message = messages[i];
  if (!message) return undefined;
  if (message.role !== "assistant") {
    const stray = blocksOf(message).findIndex(
      (one) => one.type === "tool_result" && !answerable(messages, i).has(one.tool_use_id),
    );
    const one = blocksOf(message)[stray];
    if (one?.type === "tool_result")
      return `messages.${i}.content.${stray}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${one.tool_use_id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`;
  }
  if (messages[i - 1]?.role !== "assistant" || asked.length === 0) return undefined;
  const answered = leadingResults(messages, i);
  const open = asked.filter((one) => !answered.has(one));
  if (open.length === 0) return undefined;
  return `messages.${i - 1}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${open.join(", ")}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`;
}

function toolUses(message: Message | undefined): string[] {
  if (message?.role !== "assistant") return [];
  return blocksOf(message).flatMap((one) => (one.type === "tool_use" ? [one.id] : []));
}

/** Ids that the user turn with message `i` may answer: those of the assistant turn before it. */
function answerable(messages: Message[], i: number): Set<string> {
  let at = i;
  while (messages[at]?.role === "user") at--;
  const ids = new Set<string>();
  for (; messages[at]?.role === "assistant"; at--) for (const one of toolUses(messages[at])) ids.add(one);
  return ids;
}

/** The results at the beginning of the user turn that starts at message `i`. */
function leadingResults(messages: Message[], i: number): Set<string> {
  const found = new Set<string>();
  for (let at = i; messages[at]?.role === "user"; at++) {
    for (const one of blocksOf(messages[at] as Message)) {
      if (one.type !== "tool_result") return found;
      found.add(one.tool_use_id);
    }
  }
  return found;
}
