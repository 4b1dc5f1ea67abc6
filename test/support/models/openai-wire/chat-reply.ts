/** What a model says in one turn, before it is put into the chat completions format. */
export interface ChatReply {
  /** `chatcmpl-…` */
  id: string;
  model: string;
  /** Epoch seconds. */
  created: number;
  /** The text, in the pieces it is streamed in. */
  text: string[];
  /** What the model says instead of an answer; OpenAI's own models do. */
  refusal?: string[];
  /** Reasoning text, sent as `reasoning_content` (llama.cpp, vLLM and DeepSeek servers; OpenAI itself sends none). */
  reasoning?: string[];
  toolCalls: { id: string; name: string; arguments: string[] }[];
  finishReason: "stop" | "length" | "tool_calls" | "content_filter";
  usage: { prompt: number; cached?: number; completion: number };
}

/** One server-sent event: `[DONE]`, or an object to be sent as JSON. */
export interface StreamFrame {
  /** The SSE event name, for the formats that have one. */
  event?: string;
  data: unknown;
  /** Carries a piece of the model's output, rather than the frame around it. */
  piece?: boolean;
}

/** A frame as it goes over the wire. */
export function encodeFrame(frame: StreamFrame): string {
  const data = typeof frame.data === "string" ? frame.data : JSON.stringify(frame.data);
  return `${frame.event ? `event: ${frame.event}\n` : ""}data: ${data}\n\n`;
}

/** The streamed form (API reference, "The chat completion chunk object"). The usage chunk is sent only when asked for. */
export function* chatChunks(reply: ChatReply, includeUsage: boolean): Generator<StreamFrame> {
  const chunk = (delta: object, finish_reason: string | null = null) => ({
    ...head(reply, "chat.completion.chunk"),
    choices: [{ index: 0, delta, logprobs: null, finish_reason }],
    ...(includeUsage && { usage: null }),
  });
  const content = reply.toolCalls.length > 0 && reply.text.length === 0 ? null : "";
  yield { data: chunk({ role: "assistant", content, refusal: null }) };
  for (const piece of reply.reasoning ?? []) yield { data: chunk({ reasoning_content: piece }), piece: true };
  for (const piece of reply.refusal ?? []) yield { data: chunk({ refusal: piece }), piece: true };
  for (const piece of reply.text) yield { data: chunk({ content: piece }), piece: true };
  for (const [index, call] of reply.toolCalls.entries()) {
    const opening = { index, id: call.id, type: "function", function: { name: call.name, arguments: "" } };
    yield { data: chunk({ tool_calls: [opening] }) };
    for (const piece of call.arguments)
      yield { data: chunk({ tool_calls: [{ index, function: { arguments: piece } }] }), piece: true };
  }
  yield { data: chunk({}, reply.finishReason) };
  if (includeUsage)
    yield { data: { ...head(reply, "chat.completion.chunk"), choices: [], usage: usage(reply) } };
  yield { data: "[DONE]" };
}

/** The unstreamed form (API reference, "The chat completion object"). */
export function chatCompletion(reply: ChatReply): object {
  const tool_calls = reply.toolCalls.map((call) => ({
    id: call.id,
    type: "function",
    function: { name: call.name, arguments: call.arguments.join("") },
  }));
  const text = reply.text.join("");
  const message = {
    role: "assistant",
    content: text === "" && tool_calls.length > 0 ? null : text,
    refusal: null,
    ...(reply.reasoning?.length && { reasoning_content: reply.reasoning.join("") }),
    ...(tool_calls.length > 0 && { tool_calls }),
  };
  return {
    ...head(reply, "chat.completion"),
    choices: [{ index: 0, message, logprobs: null, finish_reason: reply.finishReason }],
    usage: usage(reply),
  };
}

/** Cuts a text into about `count` pieces at white space, or anywhere between characters where there is none. */
export function inPieces(text: string, count: number): string[] {
  const size = Math.max(1, Math.ceil(text.length / count));
  const pieces: string[] = [];
  let piece = "";
  for (const word of text.match(/\s*\S+\s*|\s+/gu) ?? []) {
    piece += word;
    const characters = [...piece];
    if (characters.length < size) continue;
    for (let start = 0; start < characters.length; start += size * 2)
      pieces.push(characters.slice(start, start + size * 2).join(""));
    piece = "";
  }
  return piece === "" ? pieces : [...pieces, piece];
}

function head(reply: ChatReply, object: string) {
  return {
    id: reply.id,
    object,
    created: reply.created,
    model: reply.model,
    service_tier: "default",
    system_fingerprint: null,
  };
}

function usage(reply: ChatReply) {
  const { prompt, cached = 0, completion } = reply.usage;
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: cached, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 },
  };
}
