import { type HttpAnswer, jsonAnswer } from "../../shared/http/http-answer.ts";
import { code, PeerError } from "../../shared/protocol/errors.ts";
import type { Usage } from "../../shared/protocol/messages.ts";
import { logError } from "../../shared/runtime/log.ts";
import { type Piece, RunFailed } from "./run-text.ts";

/** What all parts of one completion have in common. */
export interface CompletionHead {
  id: string;
  /** Epoch seconds. */
  created: number;
  model: string;
}

/** The error object of OpenAI's API. */
interface ErrorBody {
  error: { message: string; type: string; param: null; code: string | null };
}

/** Names of OpenAI's API for refusals. */
const refusals: Record<number, { status: number; type: string; code: string | null }> = {
  [code.unauthorized]: { status: 401, type: "invalid_request_error", code: "invalid_api_key" },
  [code.forbidden]: { status: 403, type: "invalid_request_error", code: "insufficient_permissions" },
  [code.notFound]: { status: 404, type: "invalid_request_error", code: "model_not_found" },
  [code.tooLarge]: { status: 413, type: "invalid_request_error", code: "request_too_large" },
  [code.rateLimited]: { status: 429, type: "requests", code: "rate_limit_exceeded" },
  [code.unavailable]: { status: 503, type: "server_error", code: "unavailable" },
};

const faults = {
  badRequest: { status: 400, type: "invalid_request_error", code: null },
  failed: { status: 500, type: "server_error", code: "run_failed" },
  internal: { status: 500, type: "server_error", code: "internal_error" },
};

function faultOf(error: unknown): { status: number; body: ErrorBody } {
  const of = ({ status, ...names }: (typeof refusals)[number], message: string) => ({
    status,
    body: { error: { message, param: null, ...names } },
  });
  if (error instanceof RunFailed) return of(faults.failed, error.message);
  if (error instanceof PeerError) return of(refusals[error.code] ?? faults.badRequest, error.message);
  logError("openai.failed", error);
  return of(faults.internal, "internal error");
}

/** An error in the shape of OpenAI's API. Its clients repeat a failed request by themselves, which must not begin another run. */
export function errorAnswer(error: unknown): HttpAnswer {
  const { status, body } = faultOf(error);
  return jsonAnswer(status, body, status === 500 ? { "x-should-retry": "false" } : {});
}

const usageOf = ({ input, output, cacheRead, cacheWrite }: Usage) => ({
  prompt_tokens: input + cacheRead + cacheWrite,
  completion_tokens: output,
  total_tokens: input + cacheRead + cacheWrite + output,
});

const noUsage = usageOf({ input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 });
const reasonOf = (isCut: boolean) => (isCut ? "length" : "stop");

/** The whole answer of a run, as a completion. @throws RunFailed */
export async function wholeCompletion(
  head: CompletionHead,
  pieces: AsyncIterable<Piece>,
): Promise<HttpAnswer> {
  let content = "";
  let end: Extract<Piece, { end: true }> = { end: true, isCut: false };
  for await (const piece of pieces) {
    if (piece === "alive") continue;
    if ("end" in piece) end = piece;
    else content += piece.text;
  }
  const message = { role: "assistant", content, refusal: null };
  return jsonAnswer(200, {
    ...head,
    object: "chat.completion",
    choices: [{ index: 0, message, logprobs: null, finish_reason: reasonOf(end.isCut) }],
    usage: end.usage ? usageOf(end.usage) : noUsage,
  });
}

/** The answer of a run as server-sent events, which end with `[DONE]`; a failure is an event too. */
export async function* completionEvents(
  head: CompletionHead,
  pieces: AsyncIterable<Piece>,
  hasUsage: boolean,
): AsyncGenerator<string> {
  const chunk = (delta: object, finish_reason: string | null = null) => {
    const choices = [{ index: 0, delta, logprobs: null, finish_reason }];
    return eventOf({
      ...head,
      object: "chat.completion.chunk",
      choices,
      ...(hasUsage ? { usage: null } : {}),
    });
  };
  try {
    yield chunk({ role: "assistant", content: "" });
    for await (const piece of pieces) {
      if (piece === "alive") yield ": alive\n\n";
      else if ("text" in piece) yield chunk({ content: piece.text });
      else {
        yield chunk({}, reasonOf(piece.isCut));
        const usage = piece.usage ? usageOf(piece.usage) : noUsage;
        if (hasUsage) yield eventOf({ ...head, object: "chat.completion.chunk", choices: [], usage });
      }
    }
  } catch (error) {
    yield eventOf(faultOf(error).body);
  }
  yield "data: [DONE]\n\n";
}

function eventOf(value: object): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}
