import * as v from "valibot";
import type { StreamFrame } from "../openai-wire/chat-reply.ts";
import { checkShape } from "../openai-wire/request-shape.ts";
import {
  type ModelServer,
  parseArguments,
  type ResolvedReply,
  type Script,
  type StopReason,
  serveScript,
  type Wire,
} from "../scripted-model.ts";

const name = v.pipe(v.string(), v.regex(/^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/));
const part = v.looseObject({
  functionCall: v.optional(v.looseObject({ name, args: v.record(v.string(), v.unknown()) })),
  functionResponse: v.optional(v.looseObject({ name, response: v.record(v.string(), v.unknown()) })),
});
const content = v.object({
  role: v.picklist(["user", "model"]),
  parts: v.pipe(v.array(part), v.minLength(1)),
});
const request = v.looseObject({ contents: v.pipe(v.array(content), v.minLength(1)) });
type Content = v.InferOutput<typeof content>;

/** A scripted model behind the Gemini API's streamGenerateContent (docs/reference/model-wires.md), on 127.0.0.1. */
export function startGoogleServer(script: Script = []): Promise<ModelServer> {
  return serveScript([generateWire], "", script);
}

const generateWire: Wire = {
  path: /\/models\/[^/]+:streamGenerateContent$/,
  accept: (_headers, body) => {
    const shaped = checkShape(request, body);
    const fault = shaped.ok
      ? turnsFault(shaped.value.contents)
      : `Invalid value at ${shaped.fault.path.join(".")}: expected ${shaped.fault.expected}`;
    if (fault !== undefined) return { status: 400, body: errorBody(400, fault) };
    return { view: { system: "", turns: [], tools: [] }, stream: true, frames: chunks, whole: () => ({}) };
  },
  errorBody,
  errorFrame: (words) => ({ data: errorBody(503, words) }),
  headers: () => ({}),
};

const statuses: Record<number, string> = { 400: "INVALID_ARGUMENT", 429: "RESOURCE_EXHAUSTED" };

function errorBody(code: number, message: string): object {
  return { error: { code, message, status: statuses[code] ?? "UNAVAILABLE" } };
}

function turnsFault(contents: Content[]): string | undefined {
  for (const [i, { role, parts }] of contents.entries()) {
    const before = contents[i - 1];
    const calls = before?.parts.filter((one) => one.functionCall).length ?? 0;
    const answers = parts.filter((one) => one.functionResponse).length;
    if (calls !== answers)
      return "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.";
    if (role === "model" && before?.role !== "user" && parts.some((one) => one.functionCall))
      return "Please ensure that function call turn comes immediately after a user turn or after a function response turn.";
  }
  return contents.at(-1)?.role === "user" ? undefined : "Please ensure that the last turn is a user turn.";
}

const finishReasons: Record<StopReason, string> = {
  stop: "STOP",
  length: "MAX_TOKENS",
  toolUse: "STOP",
  refusal: "SAFETY",
};

function* chunks(reply: ResolvedReply): Generator<StreamFrame> {
  const { input, output } = reply.usage;
  const usageMetadata = {
    promptTokenCount: input,
    candidatesTokenCount: output,
    totalTokenCount: input + output,
  };
  if (reply.blocked) {
    const promptFeedback = { blockReason: "PROHIBITED_CONTENT" };
    yield { data: { promptFeedback, usageMetadata: { promptTokenCount: input, totalTokenCount: input } } };
    return;
  }
  const chunk = (one: object): StreamFrame => ({
    data: { candidates: [{ index: 0, content: { role: "model", parts: [one] } }] },
    piece: true,
  });
  for (const text of reply.thinking) yield chunk({ text, thought: true });
  for (const text of reply.text) yield chunk({ text });
  for (const { id, name, arguments: json } of reply.toolCalls)
    yield chunk({
      functionCall: { ...(id === undefined ? {} : { id }), name, args: parseArguments(json.join("")) },
    });
  const finishReason = finishReasons[reply.stopReason];
  yield {
    data: { candidates: [{ index: 0, finishReason }], ...(reply.withoutUsage ? {} : { usageMetadata }) },
  };
}
