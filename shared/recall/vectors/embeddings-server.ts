import * as v from "valibot";
import { callPlatform, isPassing, plainReason } from "../../http/platform-call.ts";

/** A server with OpenAI's API `/embeddings` (https://platform.openai.com/docs/api-reference/embeddings/create). */
export interface EmbeddingsServer {
  baseUrl: string;
  model: string;
  apiKey?: string;
  /** How many numbers of a vector are kept: the first ones, which in most models hold most. */
  dimensions: number;
}

type Answer =
  | { ok: true; vectors: Int8Array[] }
  /** `passing`: the server may answer later. */
  | { ok: false; reason: string; passing: boolean };

const answerSchema = v.object({
  data: v.optional(v.array(v.object({ index: v.optional(v.number()), embedding: v.array(v.number()) }))),
  error: v.optional(v.object({ message: v.optional(v.string()) })),
});

/** Asks for the vectors of texts, one for each, in order. Does not throw. */
export async function askForVectors(
  { baseUrl, model, apiKey, dimensions }: EmbeddingsServer,
  texts: readonly string[],
  timeoutMs: number,
): Promise<Answer> {
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
  if (status !== 200) {
    const said = error?.message ?? "without a reason";
    return { ok: false, reason: plainReason(`${status} ${said}`, apiKey), passing: isPassing(status) };
  }
  const ordered = texts.map((_, place) => data?.find(({ index }, i) => (index ?? i) === place)?.embedding);
  const vectors = ordered.flatMap((numbers) => vectorOf(numbers, dimensions) ?? []);
  const [first] = vectors;
  if (vectors.length === texts.length && vectors.every(({ length }) => length === first?.length))
    return { ok: true, vectors };
  return { ok: false, reason: "the answer holds no vectors of these texts", passing: false };
}

/** The first numbers of a vector as whole numbers from -127 to 127. Undefined for one that points nowhere. */
function vectorOf(numbers: readonly number[] | undefined, dimensions: number): Int8Array | undefined {
  const kept = numbers?.slice(0, dimensions) ?? [];
  const largest = kept.reduce((most, number) => Math.max(most, Math.abs(number)), 0);
  if (!(largest > 0) || !Number.isFinite(largest)) return undefined;
  return Int8Array.from(kept, (number) => Math.round((127 * number) / largest));
}
