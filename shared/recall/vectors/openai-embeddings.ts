import * as v from "valibot";
import { callPlatform } from "../../http/platform-call.ts";
import { type AskForVectors, refusedAnswer, vectorsAnswer } from "./embeddings-server.ts";

const answerSchema = v.object({
  data: v.optional(v.array(v.object({ index: v.optional(v.number()), embedding: v.array(v.number()) }))),
  error: v.optional(v.object({ message: v.optional(v.string()) })),
});

/** Asks a server with OpenAI's API `/embeddings` (https://platform.openai.com/docs/api-reference/embeddings/create). */
export const askOpenAi: AskForVectors = async (server, texts, _purpose, timeoutMs) => {
  const { baseUrl, model, apiKey, dimensions } = server;
  const called = await callPlatform(`${baseUrl.replace(/\/+$/, "")}/embeddings`, {
    ...(apiKey ? { headers: { authorization: `Bearer ${apiKey}` } } : {}),
    // Not all servers know `dimensions`: what is too long is cut here, which gives the same vector.
    body: { model, input: texts, encoding_format: "float" },
    timeoutMs,
  });
  if (!called.answered) return { ok: false, reason: called.reason, passing: true };
  const { status, body } = called;
  const parsed = v.safeParse(answerSchema, body);
  const { data, error } = parsed.success ? parsed.output : {};
  if (status !== 200) return refusedAnswer(status, error?.message, apiKey);
  const ordered = texts.map((_, place) => data?.find(({ index }, i) => (index ?? i) === place)?.embedding);
  return vectorsAnswer(ordered, dimensions);
};
