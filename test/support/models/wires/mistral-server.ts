import * as v from "valibot";
import { openAiErrorBody } from "../openai-faults.ts";
import type { StreamFrame } from "../openai-wire/chat-reply.ts";
import { checkShape } from "../openai-wire/request-shape.ts";
import {
  type Accepted,
  type ModelServer,
  parseArguments,
  type Refusal,
  type ResolvedReply,
  type Script,
  type StopReason,
  serveScript,
  type Wire,
  wireId,
} from "../scripted-model.ts";

const text = v.optional(v.nullable(v.union([v.string(), v.array(v.looseObject({ type: v.string() }))])));
const call = v.looseObject({
  id: v.string(),
  function: v.object({ name: v.string(), arguments: v.string() }),
});
const message = v.looseObject({
  role: v.picklist(["system", "user", "assistant", "tool"]),
  content: text,
  tool_calls: v.optional(v.array(call)),
  tool_call_id: v.optional(v.string()),
});
const request = v.looseObject({
  model: v.string(),
  messages: v.pipe(v.array(message), v.minLength(1)),
});
type Message = v.InferOutput<typeof message>;

/** A scripted model behind Mistral's chat completions (docs/reference/model-wires.md), on 127.0.0.1. */
export function startMistralServer(script: Script = []): Promise<ModelServer> {
  return serveScript([mistralWire], "", script);
}

/** A server for a Mistral model with OpenAI's API: it refuses what Mistral refuses, and answers as OpenAI does. */
export function startMistralBehindOpenAi(script: Script = []): Promise<ModelServer> {
  return serveScript([compatibleWire], "", script);
}

const mistralWire: Wire = {
  path: "/v1/chat/completions",
  accept: (_headers, body) => accept(body, (thinking) => ({ content: [thoughtPart(thinking)] })),
  errorBody,
  errorFrame: (words) => ({ data: errorBody(503, words) }),
  headers: () => ({}),
};

const compatibleWire: Wire = {
  ...mistralWire,
  accept: (_headers, body) => accept(body, (reasoning_content) => ({ reasoning_content })),
  errorBody: openAiErrorBody,
  errorFrame: (words) => ({ data: openAiErrorBody(503, words) }),
};

function thoughtPart(thinking: string): object {
  return { type: "thinking", thinking: [{ type: "text", text: thinking }] };
}

/** @param thought the delta of a piece of reasoning */
function accept(body: unknown, thought: (piece: string) => object): Accepted | Refusal {
  const shaped = checkShape(request, body);
  const fault = shaped.ok
    ? (shaped.value.messages.map(callFault).find((one) => one !== undefined) ??
      orderFault(shaped.value.messages.filter(({ role }) => role !== "system")))
    : `${shaped.fault.path.join(".")}: expected ${shaped.fault.expected}`;
  if (fault !== undefined) return { status: 400, body: errorBody(400, fault) };
  const view = { system: "", turns: [], tools: [] };
  return { view, stream: true, frames: (reply) => chunks(reply, thought), whole: () => ({}) };
}

function errorBody(status: number, words: string): object {
  const type = status === 400 ? "invalid_request_error" : "service_error";
  return { object: "error", message: words, type, param: null, code: null };
}

function callFault({ tool_calls = [] }: Message): string | undefined {
  if (new Set(tool_calls.map(({ id }) => id)).size < tool_calls.length)
    return "Duplicate tool call id in assistant message";
  for (const { id, function: called } of tool_calls) {
    if (!/^[a-zA-Z0-9]{9}$/.test(id))
      return `Tool call id was ${id} but must be a-z, A-Z, 0-9, with a length of 9.`;
    if (!/^[a-zA-Z0-9_-]{1,64}$/.test(called.name))
      return `Function name was ${called.name} but must be a-z, A-Z, 0-9, or contain underscores and dashes, with a maximum length of 64.`;
    const args = parseArguments(called.arguments);
    if (typeof args !== "object" || Array.isArray(args)) return `Invalid arguments of ${called.name}`;
  }
  return undefined;
}

function orderFault(messages: Message[]): string | undefined {
  let open: string[] = [];
  for (const [i, { role, content, tool_calls = [], tool_call_id = "" }] of messages.entries()) {
    const before = messages[i - 1]?.role;
    if (role === "tool") {
      if (!open.includes(tool_call_id)) return "Unexpected tool call id in tool results";
      open = open.filter((id) => id !== tool_call_id);
      continue;
    }
    if (open.length > 0) return "Not the same number of function calls and responses";
    if (role === "user" && before === "tool") return "Unexpected role 'user' after role 'tool'";
    if (role === "user" && before === "user") return "Conversation roles must alternate user/assistant";
    if (role === "assistant" && tool_calls.length === 0 && (content?.length ?? 0) === 0)
      return "Assistant message must have either content or tool_calls, but not none.";
    open = tool_calls.map(({ id }) => id);
  }
  const last = messages.at(-1)?.role;
  if (last === "user" || last === "tool") return undefined;
  return `Expected last role User or Tool (or Assistant with prefix True) for serving but got ${last}`;
}

const finishReasons: Record<StopReason, string> = {
  stop: "stop",
  length: "length",
  toolUse: "tool_calls",
  refusal: "content_filter",
};

function* chunks(reply: ResolvedReply, thought: (piece: string) => object): Generator<StreamFrame> {
  const head = { id: wireId(""), object: "chat.completion.chunk", created: 1, model: "mistral" };
  const chunk = (delta: object, rest: object = { finish_reason: null }, more: object = {}): object => ({
    ...head,
    choices: [{ index: 0, delta, ...rest }],
    ...more,
  });
  yield { data: chunk({ role: "assistant", content: "" }) };
  for (const piece of reply.thinking) yield { data: chunk(thought(piece)), piece: true };
  for (const content of reply.text) yield { data: chunk({ content }), piece: true };
  for (const [index, { id, name, arguments: json }] of reply.toolCalls.entries()) {
    const called = { index, id: id ?? wireId("").slice(0, 9), function: { name, arguments: json.join("") } };
    yield { data: chunk({ tool_calls: [called] }), piece: true };
  }
  const { input, output } = reply.usage;
  const usage = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
  const end = { finish_reason: finishReasons[reply.stopReason] };
  yield { data: chunk({ content: "" }, end, reply.withoutUsage ? {} : { usage }) };
  yield { data: "[DONE]" };
}
