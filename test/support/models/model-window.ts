import { openAiError } from "./openai-wire/openai-error.ts";
import type { ModelRequest, Reply } from "./scripted-model.ts";

/** The counted tokens of requests. */
const counted = new WeakMap<ModelRequest, number>();

/** The tokens of a request: the characters of its whole body / 4. */
export function tokensOf(request: ModelRequest): number {
  const tokens = counted.get(request) ?? Math.ceil(JSON.stringify(request.body).length / 4);
  counted.set(request, tokens);
  return tokens;
}

/** A script with a context window. Larger requests get OpenAI's error, and are counted in `refused`. */
export interface WindowedScript {
  (request: ModelRequest, index: number): Promise<Reply>;
  /** Tokens of each request, in order of arrival. */
  sizes: number[];
  refused: number;
}

export function withWindow(
  window: number,
  script: (request: ModelRequest, index: number) => Reply | Promise<Reply>,
): WindowedScript {
  const windowed = async (request: ModelRequest, index: number): Promise<Reply> => {
    const tokens = tokensOf(request);
    state.sizes.push(tokens);
    if (tokens <= window) return script(request, index);
    state.refused++;
    const message = `This model's maximum context length is ${window} tokens. However, your messages resulted in ${tokens} tokens. Please reduce the length of the messages.`;
    const body = openAiError({ message, param: "messages", code: "context_length_exceeded" });
    return { error: { status: 400, body } };
  };
  const state = Object.assign(windowed, { sizes: [] as number[], refused: 0 });
  return state;
}

/** Whether a request is for a summary or memories of a conversation, not for its next message. */
export function isReading(request: ModelRequest): boolean {
  return request.system.startsWith("You read conversations");
}
