import {
  inputTurns,
  instructionsOf,
  type ResponsesRequest,
  readResponsesRequest,
} from "./openai-responses-request.ts";
import type { StreamFrame } from "./openai-wire/chat-reply.ts";
import { openAiError } from "./openai-wire/openai-error.ts";
import { type Accepted, type ResolvedReply, type Wire, wireId } from "./scripted-model.ts";

/** OpenAI's Responses API (API reference, "Create a model response" and "Streaming events"). */
export const responsesWire: Pick<Wire, "path" | "accept" | "errorFrame"> = {
  path: "/v1/responses",
  accept: (_headers, body) => {
    const read = readResponsesRequest(body);
    return read.ok ? accepted(read.request) : { status: 400, body: openAiError(read.fault) };
  },
  errorFrame: (message) => ({
    event: "error",
    data: { type: "error", sequence_number: 0, code: "server_error", message, param: null },
  }),
};

function accepted(request: ResponsesRequest): Accepted {
  return {
    view: {
      system: instructionsOf(request),
      turns: inputTurns(request),
      tools: (request.tools ?? []).map((tool) => tool.name),
    },
    stream: request.stream === true,
    frames: (reply) => responseEvents(reply, request),
    whole: (reply) => {
      const items = outputItems(reply);
      return response(
        request,
        wireId("resp_"),
        items.map((item) => item.done),
        reply,
      );
    },
  };
}

/** Numbers the events and orders them as the service does: created, the items one after the other, completed. */
function* responseEvents(reply: ResolvedReply, request: ResponsesRequest): Generator<StreamFrame> {
  const id = wireId("resp_");
  let sequence_number = 0;
  const event = (type: string, rest: object, piece = false): StreamFrame => ({
    event: type,
    data: { type, sequence_number: sequence_number++, ...rest },
    piece,
  });
  yield event("response.created", { response: response(request, id, []) });
  yield event("response.in_progress", { response: response(request, id, []) });
  const items = outputItems(reply);
  for (const [output_index, item] of items.entries()) {
    yield event("response.output_item.added", { output_index, item: item.added });
    for (const inner of item.events)
      yield event(inner.type, { item_id: item.id, output_index, ...inner.rest }, inner.piece);
    yield event("response.output_item.done", { output_index, item: item.done });
  }
  const complete = response(
    request,
    id,
    items.map((item) => item.done),
    reply,
  );
  yield event(complete.status === "completed" ? "response.completed" : "response.incomplete", {
    response: complete,
  });
}

interface OutputItem {
  id: string;
  added: object;
  events: { type: string; rest: object; piece?: boolean }[];
  done: object;
}

function outputItems(reply: ResolvedReply): OutputItem[] {
  const items: OutputItem[] = [];
  if (reply.thinking.length > 0) items.push(reasoningItem(reply.thinking));
  if (reply.text.length > 0) items.push(messageItem(reply.text));
  return [...items, ...reply.toolCalls.map(functionCallItem)];
}

function messageItem(pieces: string[]): OutputItem {
  const id = wireId("msg_");
  const head = { id, type: "message", role: "assistant" };
  const part = (text: string) => ({ type: "output_text", text, annotations: [], logprobs: [] });
  const text = pieces.join("");
  const at = { content_index: 0 };
  return {
    id,
    added: { ...head, status: "in_progress", content: [] },
    events: [
      { type: "response.content_part.added", rest: { ...at, part: part("") } },
      ...pieces.map((delta) => ({
        type: "response.output_text.delta",
        rest: { ...at, delta, logprobs: [] },
        piece: true,
      })),
      { type: "response.output_text.done", rest: { ...at, text, logprobs: [] } },
      { type: "response.content_part.done", rest: { ...at, part: part(text) } },
    ],
    done: { ...head, status: "completed", content: [part(text)] },
  };
}

function reasoningItem(pieces: string[]): OutputItem {
  const id = wireId("rs_");
  const text = pieces.join("");
  const at = { summary_index: 0 };
  const part = (value: string) => ({ type: "summary_text", text: value });
  return {
    id,
    added: { id, type: "reasoning", summary: [] },
    events: [
      { type: "response.reasoning_summary_part.added", rest: { ...at, part: part("") } },
      ...pieces.map((delta) => ({
        type: "response.reasoning_summary_text.delta",
        rest: { ...at, delta },
        piece: true,
      })),
      { type: "response.reasoning_summary_text.done", rest: { ...at, text } },
      { type: "response.reasoning_summary_part.done", rest: { ...at, part: part(text) } },
    ],
    done: { id, type: "reasoning", summary: [part(text)], encrypted_content: wireId("gAAAAA") },
  };
}

function functionCallItem(call: ResolvedReply["toolCalls"][number]): OutputItem {
  const id = wireId("fc_");
  const head = { id, type: "function_call", call_id: call.id ?? wireId("call_"), name: call.name };
  const json = call.arguments.join("");
  return {
    id,
    added: { ...head, status: "in_progress", arguments: "" },
    events: [
      ...call.arguments.map((delta) => ({
        type: "response.function_call_arguments.delta",
        rest: { delta },
        piece: true,
      })),
      { type: "response.function_call_arguments.done", rest: { name: call.name, arguments: json } },
    ],
    done: { ...head, status: "completed", arguments: json },
  };
}

/** The response object; without a reply it is the one that opens the stream. */
function response(request: ResponsesRequest, id: string, output: object[], reply?: ResolvedReply) {
  const reason = reply && INCOMPLETE[reply.stopReason];
  const status = !reply ? "in_progress" : reason ? "incomplete" : "completed";
  return {
    id,
    object: "response",
    created_at: Math.floor(Date.now() / 1000),
    status,
    error: null,
    incomplete_details: reason ? { reason } : null,
    instructions: request.instructions ?? null,
    max_output_tokens: request.max_output_tokens ?? null,
    model: request.model,
    output,
    parallel_tool_calls: true,
    previous_response_id: null,
    store: request.store ?? true,
    tool_choice: "auto",
    tools: request.tools ?? [],
    usage: reply && !reply.withoutUsage ? usage(reply) : null,
    metadata: {},
  };
}

const INCOMPLETE: Partial<Record<ResolvedReply["stopReason"], string>> = {
  length: "max_output_tokens",
  refusal: "content_filter",
};

function usage(reply: ResolvedReply): object {
  const { input, output, cacheRead, cacheWrite } = reply.usage;
  const input_tokens = input + cacheRead + cacheWrite;
  return {
    input_tokens,
    input_tokens_details: { cached_tokens: cacheRead },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input_tokens + output,
  };
}
