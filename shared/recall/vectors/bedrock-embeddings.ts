import * as v from "valibot";
import { callPlatform } from "../../http/platform-call.ts";
import {
  type AskForVectors,
  type EmbeddingsServer,
  type Purpose,
  refusedAnswer,
  unanswered,
  type VectorsAnswer,
  vectorsAnswer,
} from "./embeddings-server.ts";

const numbers = v.array(v.number());

/** Bedrock's answer: Titan returns a vector, Cohere one for each text, an error a message. */
const answerSchema = v.object({
  embedding: v.optional(numbers),
  embeddings: v.optional(v.union([v.array(numbers), v.object({ float: v.array(numbers) })])),
  /** Of Titan. */
  inputTextTokenCount: v.optional(v.number()),
  message: v.optional(v.string()),
});

/** The lengths of vectors that models support; other models have a fixed length. */
const lengths = { titan: [256, 512, 1024], cohere: [256, 512, 1024, 1536] };

/**
 * Calls Amazon Bedrock's InvokeModel, with a Bedrock API key, for a model of Cohere (all texts in one request) or Amazon Titan
 * (one request for each text). References: docs.aws.amazon.com/bedrock/latest/userguide, pages `api-keys-use`,
 * `model-parameters-embed` and `model-parameters-titan-embed-text`.
 */
export const askBedrock: AskForVectors = async (server, texts, purpose, timeoutMs) => {
  if (/(^|\.)cohere\.embed/.test(server.model)) {
    const answer = await invoke(server, cohereBody(server, texts, purpose), timeoutMs);
    if ("refused" in answer) return answer.refused;
    const { embeddings = [] } = answer;
    const found = Array.isArray(embeddings) ? embeddings : embeddings.float;
    return vectorsAnswer(
      texts.map((_, i) => found[i]),
      server.dimensions,
    );
  }
  const answers = await Promise.all(texts.map((text) => invoke(server, titanBody(server, text), timeoutMs)));
  const refused = answers.find((answer) => "refused" in answer);
  if (refused && "refused" in refused) return refused.refused;
  const made = answers.flatMap((answer) => ("refused" in answer ? [] : answer));
  const counts = made.flatMap(({ inputTextTokenCount }) => inputTextTokenCount ?? []);
  return vectorsAnswer(
    made.map(({ embedding }) => embedding),
    server.dimensions,
    counts.length === made.length ? counts.reduce((sum, count) => sum + count, 0) : undefined,
  );
};

function cohereBody({ model, dimensions }: EmbeddingsServer, texts: readonly string[], purpose: Purpose) {
  return {
    texts,
    input_type: purpose === "question" ? "search_query" : "search_document",
    embedding_types: ["float"],
    ...(/embed-v4/.test(model) ? { output_dimension: lengthFor(lengths.cohere, dimensions) } : {}),
  };
}

function titanBody({ model, dimensions }: EmbeddingsServer, inputText: string) {
  const asked = /titan-embed-text-v2/.test(model) ? { dimensions: lengthFor(lengths.titan, dimensions) } : {};
  return { inputText, ...asked };
}

/** The shortest sufficient length, else the longest. */
function lengthFor(known: readonly number[], wanted: number): number | undefined {
  return known.find((length) => length >= wanted) ?? known.at(-1);
}

type Invoked = v.InferOutput<typeof answerSchema> | { refused: VectorsAnswer };

async function invoke(
  { baseUrl, model, apiKey }: EmbeddingsServer,
  body: object,
  timeoutMs: number,
): Promise<Invoked> {
  const url = `${baseUrl.replace(/\/+$/, "")}/model/${encodeURIComponent(model)}/invoke`;
  const headers = { authorization: `Bearer ${apiKey}`, accept: "application/json" };
  const called = await callPlatform(url, { headers, body, timeoutMs });
  if (!called.answered) return { refused: unanswered(called.reason) };
  const parsed = v.safeParse(answerSchema, called.body);
  const answer = parsed.success ? parsed.output : {};
  return called.status === 200 ? answer : { refused: refusedAnswer(called.status, answer.message, apiKey) };
}
