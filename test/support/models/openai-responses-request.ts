import * as v from "valibot";
import { nameFault, tooLong } from "./openai-faults.ts";
import { type OpenAiFault, openAiShapeFault } from "./openai-wire/openai-error.ts";
import { checkShape, stringOr } from "./openai-wire/request-shape.ts";
import { parseArguments, type Turn } from "./scripted-model.ts";

const part = v.variant("type", [
  v.object({ type: v.literal("input_text"), text: v.string() }),
  v.object({ type: v.literal("input_image"), image_url: v.optional(v.string()) }),
  v.object({ type: v.literal("input_file") }),
  v.object({ type: v.literal("output_text"), text: v.string() }),
  v.object({ type: v.literal("refusal"), refusal: v.string() }),
]);
const roles = v.picklist(["user", "assistant", "system", "developer"]);
const messageItem = v.object({
  type: v.literal("message"),
  role: roles,
  content: stringOr(v.array(part)),
  id: v.optional(v.string()),
});
const typedItem = v.variant("type", [
  messageItem,
  v.object({
    type: v.literal("function_call"),
    call_id: v.string(),
    name: v.string(),
    arguments: v.string(),
    id: v.optional(v.string()),
  }),
  v.object({
    type: v.literal("function_call_output"),
    call_id: v.string(),
    output: stringOr(v.array(part)),
  }),
  v.object({
    type: v.literal("reasoning"),
    id: v.string(),
    summary: v.array(v.unknown()),
    encrypted_content: v.optional(v.nullable(v.string())),
  }),
]);
/** An item without a type is a message ("easy input message"). */
const item = v.pipe(
  v.unknown(),
  v.transform((value): unknown =>
    typeof value === "object" && value !== null && !("type" in value) ? { type: "message", ...value } : value,
  ),
  typedItem,
);
const request = v.object({
  model: v.string(),
  input: stringOr(v.pipe(v.array(item), v.minLength(1))),
  instructions: v.optional(v.nullable(v.string())),
  tools: v.optional(
    v.array(
      v.object({
        type: v.literal("function"),
        name: v.string(),
        parameters: v.optional(v.nullable(v.record(v.string(), v.unknown()))),
      }),
    ),
  ),
  max_output_tokens: v.optional(v.nullable(v.number())),
  store: v.optional(v.nullable(v.boolean())),
  stream: v.optional(v.nullable(v.boolean())),
});

/** The checked fields of a request to the Responses API. */
export type ResponsesRequest = v.InferOutput<typeof request>;
type Item = v.InferOutput<typeof typedItem>;

/** Reads a request body and refuses what the service would refuse. */
export function readResponsesRequest(
  body: unknown,
): { ok: true; request: ResponsesRequest } | { ok: false; fault: OpenAiFault } {
  const shaped = checkShape(request, body);
  if (!shaped.ok) return { ok: false, fault: openAiShapeFault(shaped.fault) };
  const fault = fieldFault(shaped.value, body as object) ?? itemFault(itemsOf(shaped.value));
  return fault ? { ok: false, fault } : { ok: true, request: shaped.value };
}

/** The system prompt: `instructions` and the system and developer messages. */
export function instructionsOf(request: ResponsesRequest): string {
  const texts = itemsOf(request).flatMap((one) =>
    one.type === "message" && (one.role === "system" || one.role === "developer")
      ? [textOf(one.content)]
      : [],
  );
  return [...(request.instructions ? [request.instructions] : []), ...texts].join("\n");
}

/** The conversation in the common form of all wire formats. Function calls join the preceding assistant turn. */
export function inputTurns(request: ResponsesRequest): Turn[] {
  const turns: Turn[] = [];
  for (const one of itemsOf(request)) {
    if (one.type === "function_call_output")
      turns.push({ role: "tool", toolCallId: one.call_id, text: textOf(one.output) });
    else if (one.type === "message" && (one.role === "user" || one.role === "assistant"))
      turns.push({ role: one.role, text: textOf(one.content) });
    else if (one.type === "function_call") {
      const call = { id: one.call_id, name: one.name, arguments: parseArguments(one.arguments) };
      const last = turns.at(-1);
      if (last?.role === "assistant") last.toolCalls = [...(last.toolCalls ?? []), call];
      else turns.push({ role: "assistant", text: "", toolCalls: [call] });
    }
  }
  return turns;
}

function itemsOf(request: ResponsesRequest): Item[] {
  if (typeof request.input !== "string") return request.input;
  return [{ type: "message", role: "user", content: request.input }];
}

function textOf(content: string | { type: string; text?: string }[]): string {
  if (typeof content === "string") return content;
  return content.flatMap((one) => (one.text === undefined ? [] : [one.text])).join("\n");
}

const KNOWN = new Set([
  ...[
    "background",
    "context_management",
    "conversation",
    "include",
    "input",
    "instructions",
    "max_output_tokens",
  ],
  ...[
    "max_tool_calls",
    "metadata",
    "model",
    "moderation",
    "parallel_tool_calls",
    "previous_response_id",
    "prompt",
  ],
  ...["prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "reasoning", "safety_identifier"],
  ...["service_tier", "store", "stream", "stream_options", "temperature", "text", "tool_choice", "tools"],
  ...["top_logprobs", "top_p", "truncation", "user"],
]);

function fieldFault(request: ResponsesRequest, body: object): OpenAiFault | undefined {
  const extra = Object.keys(body).find((key) => !KNOWN.has(key));
  if (extra) return { message: `Unknown parameter: '${extra}'.`, param: extra, code: "unknown_parameter" };
  const most = request.max_output_tokens;
  if (most != null && most < 16)
    return {
      message: `Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got ${most} instead.`,
      param: "max_output_tokens",
      code: "integer_below_min_value",
    };
  for (const [i, tool] of (request.tools ?? []).entries()) {
    const fault = nameFault(tool.name, `tools[${i}].name`, 128);
    if (fault) return fault;
  }
  return undefined;
}

function itemFault(items: Item[]): OpenAiFault | undefined {
  const asked = new Set<string>();
  const answered = new Set<string>();
  for (const [i, one] of items.entries()) {
    const fault = idFault(one, i) ?? partFault(one, i);
    if (fault) return fault;
    if (one.type === "function_call") asked.add(one.call_id);
    if (one.type !== "function_call_output") continue;
    if (!asked.has(one.call_id))
      return {
        message: `No tool call found for function call output with call_id ${one.call_id}.`,
        param: "input",
      };
    answered.add(one.call_id);
  }
  const open = [...asked].find((id) => !answered.has(id));
  if (open) return { message: `No tool output found for function call ${open}.`, param: "input" };
  return reasoningFault(items);
}

function idFault(one: Item, i: number): OpenAiFault | undefined {
  const prefix = { message: "msg", function_call: "fc", reasoning: "rs", function_call_output: undefined }[
    one.type
  ];
  if (one.type === "function_call" || one.type === "function_call_output") {
    if (one.call_id.length > 64) return tooLong(`input[${i}].call_id`, one.call_id, 64);
    const fault = nameFault(one.call_id, `input[${i}].call_id`, 64);
    if (fault) return fault;
  }
  if (one.type === "function_call") {
    const fault = nameFault(one.name, `input[${i}].name`, 128);
    if (fault) return fault;
  }
  if (!prefix || !("id" in one) || one.id === undefined) return undefined;
  if (one.id.length > 64) return tooLong(`input[${i}].id`, one.id, 64);
  if (one.id.startsWith(prefix)) return undefined;
  return {
    message: `Invalid 'input[${i}].id': '${one.id}'. Expected an ID that begins with '${prefix}'.`,
    param: `input[${i}].id`,
    code: "invalid_value",
  };
}

/** Assistant messages contain output parts, all others input parts. */
function partFault(one: Item, i: number): OpenAiFault | undefined {
  if (one.type !== "message" || typeof one.content === "string") return undefined;
  const output = one.role === "assistant";
  const at = one.content.findIndex(
    (each) => (each.type === "output_text" || each.type === "refusal") !== output,
  );
  if (at < 0) return undefined;
  const supported = output ? "'output_text' and 'refusal'" : "'input_text', 'input_image', and 'input_file'";
  return {
    message: `Invalid value: '${one.content[at]?.type}'. Supported values are: ${supported}.`,
    param: `input[${i}].content[${at}]`,
    code: "invalid_value",
  };
}

/** Nothing is stored, so reasoning must be sent back whole, and before the item that followed it. */
function reasoningFault(items: Item[]): OpenAiFault | undefined {
  for (const [i, one] of items.entries()) {
    if (one.type !== "reasoning") continue;
    if (!one.encrypted_content)
      return {
        message: `Item with id '${one.id}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`,
        param: "input",
      };
    const next = items[i + 1];
    if (
      next?.type !== "function_call" &&
      next?.type !== "reasoning" &&
      !(next?.type === "message" && next.role === "assistant")
    )
      return {
        message: `Item '${one.id}' of type 'reasoning' was provided without its required following item.`,
        param: "input",
      };
  }
  return undefined;
}
