import { keyRefusal, nameFault, openAiErrorBody, tooLong } from "./openai-faults.ts";
import { responsesWire } from "./openai-responses.ts";
import { type ChatReply, chatChunks, chatCompletion } from "./openai-wire/chat-reply.ts";
import {
  type ChatMessage,
  type ChatRequest,
  messageText,
  readChatRequest,
} from "./openai-wire/chat-request.ts";
import { type OpenAiFault, openAiError } from "./openai-wire/openai-error.ts";
import {
  type Accepted,
  type ModelServer,
  parseArguments,
  type ResolvedReply,
  type Script,
  type StopReason,
  serveScript,
  type Turn,
  type Wire,
  wireId,
} from "./scripted-model.ts";

export interface OpenAiServerOptions {
  /** The only accepted key; by default, any non-empty one. */
  apiKey?: string;
}

/**
 * A scripted model behind both OpenAI APIs on 127.0.0.1: POST /v1/chat/completions and POST /v1/responses, streamed
 * and whole. `url` ends in /v1, as clients want it. Follows the API reference: "Create chat completion",
 * "Create a model response", their streaming events, and "Error codes".
 */
export function startOpenAiServer(
  script: Script = [],
  options: OpenAiServerOptions = {},
): Promise<ModelServer> {
  const shared = {
    errorBody: openAiErrorBody,
    headers: () => ({ "x-request-id": wireId("req_"), "openai-version": "2020-10-01" }),
  };
  const guarded = (wire: Pick<Wire, "path" | "accept" | "errorFrame">): Wire => ({
    ...shared,
    ...wire,
    accept: (headers, body) =>
      keyRefusal(headers.authorization, options.apiKey) ?? wire.accept(headers, body),
  });
  return serveScript([guarded(chatWire), guarded(responsesWire)], "/v1", script);
}

const chatWire: Pick<Wire, "path" | "accept" | "errorFrame"> = {
  path: "/v1/chat/completions",
  accept: (_headers, body) => {
    const read = readChatRequest(body);
    if (!read.ok) return { status: 400, body: openAiError(read.fault) };
    const fault = limitFault(read.request, body as object);
    return fault ? { status: 400, body: openAiError(fault) } : accepted(read.request);
  },
  errorFrame: (message) => ({ data: openAiError({ message, type: "server_error" }) }),
};

function accepted(request: ChatRequest): Accepted {
  const instructions = request.messages.filter((one) => one.role === "system" || one.role === "developer");
  return {
    view: {
      system: instructions.map((one) => messageText(one.content)).join("\n"),
      turns: request.messages.flatMap(turnOf),
      tools: (request.tools ?? []).map((tool) => tool.function.name),
    },
    stream: request.stream === true,
    frames: (reply) =>
      chatChunks(
        chatReply(reply, request.model),
        request.stream_options?.include_usage === true && !reply.withoutUsage,
      ),
    whole: (reply) => chatCompletion(chatReply(reply, request.model)),
  };
}

function turnOf(message: ChatMessage): Turn[] {
  const text = messageText(message.content);
  switch (message.role) {
    case "user":
      return [{ role: "user", text }];
    case "tool":
      return [{ role: "tool", text, toolCallId: message.tool_call_id }];
    case "assistant": {
      const toolCalls = message.tool_calls?.map((call) => ({
        id: call.id,
        name: call.function.name,
        arguments: parseArguments(call.function.arguments),
      }));
      return [{ role: "assistant", text, ...(toolCalls && { toolCalls }) }];
    }
    default:
      return [];
  }
}

const FINISH_REASONS: Record<StopReason, ChatReply["finishReason"]> = {
  stop: "stop",
  length: "length",
  toolUse: "tool_calls",
  refusal: "content_filter",
};

function chatReply(reply: ResolvedReply, model: string): ChatReply {
  const { input, cacheRead, cacheWrite, output } = reply.usage;
  return {
    id: wireId("chatcmpl-"),
    model,
    created: Math.floor(Date.now() / 1000),
    text: reply.text,
    refusal: reply.refusal,
    reasoning: reply.thinking,
    toolCalls: reply.toolCalls.map((call) => ({ ...call, id: call.id ?? wireId("call_") })),
    finishReason: FINISH_REASONS[reply.stopReason],
    usage: { prompt: input + cacheRead + cacheWrite, cached: cacheRead, completion: output },
  };
}

const KNOWN = new Set([
  ...[
    "messages",
    "model",
    "audio",
    "frequency_penalty",
    "function_call",
    "functions",
    "logit_bias",
    "logprobs",
  ],
  ...[
    "max_completion_tokens",
    "max_tokens",
    "metadata",
    "modalities",
    "n",
    "parallel_tool_calls",
    "prediction",
  ],
  ...[
    "presence_penalty",
    "prompt_cache_key",
    "prompt_cache_retention",
    "reasoning_effort",
    "response_format",
  ],
  ...[
    "safety_identifier",
    "seed",
    "service_tier",
    "stop",
    "store",
    "stream",
    "stream_options",
    "temperature",
  ],
  ...["tool_choice", "tools", "top_logprobs", "top_p", "user", "verbosity", "web_search_options"],
]);

/** Limits that OpenAI enforces and compatible servers often do not. */
function limitFault(request: ChatRequest, body: object): OpenAiFault | undefined {
  const extra = Object.keys(body).find((key) => !KNOWN.has(key));
  if (extra) return { message: `Unrecognized request argument supplied: ${extra}` };
  const { tools } = request;
  if (tools?.length === 0)
    return {
      message:
        "Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead.",
      param: "tools",
      code: "empty_array",
    };
  if (tools && tools.length > 128)
    return {
      message: `Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length ${tools.length} instead.`,
      param: "tools",
      code: "array_above_max_length",
    };
  for (const [i, tool] of (tools ?? []).entries()) {
    const fault = nameFault(tool.function.name, `tools[${i}].function.name`, 64);
    if (fault) return fault;
  }
  return callFault(request.messages);
}

function callFault(messages: ChatMessage[]): OpenAiFault | undefined {
  for (const [i, message] of messages.entries()) {
    if (message.role !== "assistant") continue;
    for (const [n, call] of (message.tool_calls ?? []).entries()) {
      const at = `messages[${i}].tool_calls[${n}]`;
      if (call.id.length > 40) return tooLong(`${at}.id`, call.id, 40);
      const fault = nameFault(call.function.name, `${at}.function.name`, 64);
      if (fault) return fault;
    }
  }
  return undefined;
}
