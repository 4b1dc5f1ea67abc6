import * as v from "valibot";
import type { StreamFrame } from "../openai-wire/chat-reply.ts";
import { checkShape } from "../openai-wire/request-shape.ts";
import {
  type ModelServer,
  type ResolvedReply,
  type Script,
  type StopReason,
  serveScript,
  type Wire,
  wireId,
} from "../scripted-model.ts";
import { encodeEvent } from "./event-stream.ts";

const name = v.pipe(v.string(), v.regex(/^[a-zA-Z0-9_-]{1,64}$/));
const block = v.looseObject({
  text: v.optional(v.pipe(v.string(), v.regex(/\S/))),
  toolUse: v.optional(v.object({ toolUseId: name, name, input: v.record(v.string(), v.unknown()) })),
  toolResult: v.optional(v.looseObject({ toolUseId: name, content: v.array(v.unknown()) })),
});
const message = v.object({
  role: v.picklist(["user", "assistant"]),
  content: v.pipe(v.array(block), v.minLength(1)),
});
const request = v.looseObject({ messages: v.pipe(v.array(message), v.minLength(1)) });
type Message = v.InferOutput<typeof message>;

/** A scripted model behind Amazon Bedrock's ConverseStream (docs/reference/model-wires.md), on 127.0.0.1. */
export function startBedrockServer(script: Script = []): Promise<ModelServer> {
  return serveScript([converseWire], "", script);
}

const converseWire: Wire = {
  path: /^\/model\/[^/]+\/converse-stream$/,
  accept: (_headers, body) => {
    const shaped = checkShape(request, body);
    const fault = shaped.ok
      ? turnsFault(shaped.value.messages)
      : `${shaped.fault.path.join(".")}: expected ${shaped.fault.expected}`;
    if (fault !== undefined) return { status: 400, body: errorBody(400, fault) };
    return {
      view: { system: "", turns: [], tools: [] },
      stream: true,
      frames: converseEvents,
      whole: () => ({}),
    };
  },
  encode: encodeEvent,
  errorBody,
  errorFrame: (words) => ({ event: "throttlingException", data: { message: words } }),
  headers: () => ({ "x-amzn-requestid": wireId("") }),
};

const errorTypes: Record<number, string> = {
  400: "ValidationException",
  429: "ThrottlingException",
  503: "ServiceUnavailableException",
};

function errorBody(status: number, words: string): object {
  return { __type: errorTypes[status] ?? "InternalServerException", message: words };
}

function turnsFault(messages: Message[]): string | undefined {
  const used = new Set<string>();
  for (const [i, { role, content }] of messages.entries()) {
    if (role !== (i % 2 === 0 ? "user" : "assistant"))
      return "A conversation must alternate between user and assistant roles and start with a user message.";
    const asked = messages[i - 1]?.content.flatMap((one) => one.toolUse?.toolUseId ?? []) ?? [];
    const answered = content.flatMap((one) => one.toolResult?.toolUseId ?? []);
    if (asked.toSorted().join() !== answered.toSorted().join())
      return `messages.${i}: toolResult blocks do not match the toolUse blocks of the turn before`;
    for (const { toolUse } of content) {
      if (toolUse && used.has(toolUse.toolUseId)) return "tool_use ids must be unique";
      if (toolUse) used.add(toolUse.toolUseId);
    }
  }
  return messages.length % 2 === 0 ? "A conversation must end with a user message." : undefined;
}

const stopReasons: Record<StopReason, string> = {
  stop: "end_turn",
  length: "max_tokens",
  toolUse: "tool_use",
  refusal: "content_filtered",
};

function* converseEvents(reply: ResolvedReply): Generator<StreamFrame> {
  const frame = (event: string, data: object, piece = false): StreamFrame => ({ event, data, piece });
  yield frame("messageStart", { role: "assistant" });
  let contentBlockIndex = 0;
  function* pieces(deltas: object[]): Generator<StreamFrame> {
    for (const delta of deltas) yield frame("contentBlockDelta", { contentBlockIndex, delta }, true);
    yield frame("contentBlockStop", { contentBlockIndex: contentBlockIndex++ });
  }
  if (reply.thinking.length > 0)
    yield* pieces(reply.thinking.map((text) => ({ reasoningContent: { text } })));
  if (reply.text.length > 0) yield* pieces(reply.text.map((text) => ({ text })));
  for (const { id, name, arguments: json } of reply.toolCalls) {
    const toolUse = { toolUseId: id ?? wireId("tooluse_"), name };
    yield frame("contentBlockStart", { contentBlockIndex, start: { toolUse } });
    yield* pieces(json.map((input) => ({ toolUse: { input } })));
  }
  yield frame("messageStop", { stopReason: stopReasons[reply.stopReason] });
  const { input, output } = reply.usage;
  const usage = { inputTokens: input, outputTokens: output, totalTokens: input + output };
  if (!reply.withoutUsage) yield frame("metadata", { usage, metrics: { latencyMs: 1 } });
}
