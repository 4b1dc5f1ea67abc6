import { type MessagesRequest, messagesTurns, plain, readMessagesRequest } from "./anthropic-request.ts";
import { signThinking } from "./anthropic-thinking.ts";
import type { StreamFrame } from "./openai-wire/chat-reply.ts";
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
} from "./scripted-model.ts";

export interface AnthropicServerOptions {
  /** The only accepted key; by default, any non-empty one. */
  apiKey?: string;
}

/**
 * A scripted model behind Anthropic's Messages API (POST /v1/messages, streamed and whole), on 127.0.0.1.
 * `url` is the client's base URL. Follows the API reference: "Create a Message", "Streaming Messages", "Errors".
 */
export function startAnthropicServer(
  script: Script = [],
  options: AnthropicServerOptions = {},
): Promise<ModelServer> {
  return serveScript([messagesWire(options)], "", script);
}

function messagesWire(options: AnthropicServerOptions): Wire {
  return {
    path: "/v1/messages",
    accept: (headers, body) => {
      const key = headers["x-api-key"] ?? headers.authorization?.replace(/^Bearer\s+/i, "");
      if (!key || Array.isArray(key)) return refusal(401, "x-api-key header is required");
      if (options.apiKey && key !== options.apiKey) return refusal(401, "invalid x-api-key");
      const version = headers["anthropic-version"];
      if (!version) return refusal(400, "anthropic-version: header is required");
      if (version !== "2023-06-01" && version !== "2023-01-01")
        return refusal(400, `anthropic-version: "${version}" is not a valid version`);
      const read = readMessagesRequest(body);
      return read.ok ? accepted(read.request) : refusal(400, read.fault);
    },
    errorBody: (status, message) => errorBody(status, message),
    errorFrame: (message) => ({
      event: "error",
      data: { type: "error", error: { type: "overloaded_error", message } },
    }),
    headers: () => ({ "request-id": wireId("req_") }),
  };
}

function accepted(request: MessagesRequest): Accepted {
  // With thinking enabled, the model always thinks, so a transcript that loses the block is refused at the next call.
  const thinks = request.thinking?.type === "enabled";
  return {
    view: {
      system: plain(request.system),
      turns: messagesTurns(request.messages),
      tools: (request.tools ?? []).map((tool) => tool.name),
    },
    stream: request.stream === true,
    frames: (reply) => messageEvents(reply, request.model, thinks),
    whole: (reply) => ({
      ...openMessage(reply, request.model),
      content: contentBlocks(reply, thinks).map((block) => block.whole),
      stop_reason: STOP_REASONS[reply.stopReason],
      usage: usage(reply, reply.usage.output),
    }),
  };
}

const STOP_REASONS: Record<StopReason, string> = {
  stop: "end_turn",
  length: "max_tokens",
  toolUse: "tool_use",
  refusal: "refusal",
};

const ERROR_TYPES: Record<number, string> = {
  400: "invalid_request_error",
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  500: "api_error",
  529: "overloaded_error",
};

function errorBody(status: number, message: string): unknown {
  const type = ERROR_TYPES[status] ?? (status < 500 ? "invalid_request_error" : "api_error");
  return { type: "error", error: { type, message }, request_id: wireId("req_") };
}

function refusal(status: number, message: string): Refusal {
  return { status, body: errorBody(status, message) };
}

function* messageEvents(reply: ResolvedReply, model: string, thinks: boolean): Generator<StreamFrame> {
  const event = (type: string, rest: object, piece = false) => ({
    event: type,
    data: { type, ...rest },
    piece,
  });
  yield event("message_start", { message: openMessage(reply, model) });
  for (const [index, block] of contentBlocks(reply, thinks).entries()) {
    yield event("content_block_start", { index, content_block: block.start });
    if (index === 0) yield event("ping", {});
    for (const delta of block.pieces) yield event("content_block_delta", { index, delta }, !block.unscripted);
    if (block.signature)
      yield event("content_block_delta", {
        index,
        delta: { type: "signature_delta", signature: block.signature },
      });
    yield event("content_block_stop", { index });
  }
  yield event("message_delta", {
    delta: { stop_reason: STOP_REASONS[reply.stopReason], stop_sequence: null },
    usage: usage(reply, reply.usage.output),
  });
  yield event("message_stop", {});
}

interface ContentBlock {
  start: object;
  pieces: object[];
  /** Ends a thinking block. */
  signature?: string;
  whole: object;
  /** Not part of the script, so its pieces do not count as pieces of the reply. */
  unscripted?: boolean;
}

function contentBlocks(reply: ResolvedReply, thinks: boolean): ContentBlock[] {
  const blocks: ContentBlock[] = [];
  if (reply.thinking.length > 0) blocks.push(thinkingBlock(reply.thinking));
  else if (thinks) blocks.push({ ...thinkingBlock(["Let me think."]), unscripted: true });
  if (reply.text.length > 0)
    blocks.push({
      start: { type: "text", text: "" },
      pieces: reply.text.map((text) => ({ type: "text_delta", text })),
      whole: { type: "text", text: reply.text.join("") },
    });
  for (const call of reply.toolCalls) blocks.push(toolUseBlock(call));
  return blocks;
}

function thinkingBlock(pieces: string[]): ContentBlock {
  const thinking = pieces.join("");
  const signature = signThinking(thinking);
  return {
    start: { type: "thinking", thinking: "", signature: "" },
    pieces: pieces.map((piece) => ({ type: "thinking_delta", thinking: piece })),
    signature,
    whole: { type: "thinking", thinking, signature },
  };
}

function toolUseBlock(call: ResolvedReply["toolCalls"][number]): ContentBlock {
  const head = { type: "tool_use", id: call.id ?? wireId("toolu_"), name: call.name };
  return {
    start: { ...head, input: {} },
    pieces: call.arguments.map((partial_json) => ({ type: "input_json_delta", partial_json })),
    whole: { ...head, input: parseArguments(call.arguments.join("")) },
  };
}

function openMessage(reply: ResolvedReply, model: string): object {
  return {
    id: wireId("msg_"),
    type: "message",
    role: "assistant",
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    ...(reply.withoutUsage ? {} : { usage: usage(reply, 1) }),
  };
}

function usage(reply: ResolvedReply, output: number): object {
  return {
    input_tokens: reply.usage.input,
    cache_creation_input_tokens: reply.usage.cacheWrite,
    cache_read_input_tokens: reply.usage.cacheRead,
    cache_creation: { ephemeral_5m_input_tokens: reply.usage.cacheWrite, ephemeral_1h_input_tokens: 0 },
    output_tokens: output,
    service_tier: "standard",
  };
}
