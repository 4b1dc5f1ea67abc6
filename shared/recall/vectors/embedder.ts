import * as v from "valibot";
import type { Configuration } from "../../configuration/schema.ts";
import { secretMarker } from "../../configuration/secret.ts";
import type { ConfigurationStore } from "../../configuration/store.ts";
import { callPlatform } from "../../http/platform-call.ts";
import { log } from "../../runtime/log.ts";
import { bedrockProvider } from "../../session/commands/model-choice.ts";
import type { Secrets } from "../../world/world.ts";
import { askBedrock } from "./bedrock-embeddings.ts";
import {
  type AskForVectors,
  type EmbeddingsServer,
  type Purpose,
  refusedAnswer,
  vectorsAnswer,
} from "./embeddings-server.ts";

/** Computes vectors of texts. Texts with similar meanings have similar vectors, even in different words. */
export interface Embedder {
  /** Identifies the model and settings. Only vectors with the same name can be compared. */
  name: string;
  /**
   * One vector for each text, in order. Undefined, and logged, when they could not be computed in time. Does not throw.
   */
  embed(texts: readonly string[], purpose: Purpose): Promise<Int8Array[] | undefined>;
}

/** The current embedder; undefined when none is configured or available. */
export type FindEmbedder = () => Promise<Embedder | undefined>;

export interface EmbedderOptions {
  configuration: Pick<ConfigurationStore, "load">;
  secrets: Pick<Secrets, "get">;
  /** Epoch ms. */
  now(): number;
  /** Time limits for an answer, in milliseconds. */
  limits?: { question: number; text: number };
}

/** The server when the configuration names none. */
const openAi = "https://api.openai.com/v1";

const usualLimits = { question: 3000, text: 5000 };

/** How long a server that is down or slow is not asked again, in milliseconds. */
const restMs = 60_000;

/** Maximum characters of a text that are sent, in UTF-16 units: the start of a message usually states its subject. */
const maxCharacters = 2000;

/** Finds the server of the setting `memory.embeddings`. Without a model there is none, and nothing is sent. */
export function createFindEmbedder(options: EmbedderOptions): FindEmbedder {
  const { configuration, secrets, now, limits = usualLimits } = options;
  const resting = { server: "", until: 0 };
  return async () => {
    const server = await findServer(await configuration.load(), secrets);
    if (!server) return undefined;
    const place = `${server.baseUrl} ${server.model}`;
    if (resting.server === place && now() < resting.until) return undefined;
    const { model, dimensions, prefixes } = server;
    return {
      name: JSON.stringify([model, dimensions, prefixes.text]),
      async embed(texts, purpose) {
        const sent = texts.map((text) => prefixes[purpose] + text.slice(0, maxCharacters).toWellFormed());
        const answer = await server.ask(server, sent, purpose, limits[purpose]);
        if (answer.ok) return answer.vectors;
        log("recall.embeddings-failed", { purpose, texts: texts.length, reason: answer.reason });
        if (answer.passing) Object.assign(resting, { server: place, until: now() + restMs });
        return undefined;
      },
    };
  };
}

type Server = EmbeddingsServer & { ask: AskForVectors; prefixes: Record<Purpose, string> };

/** A configured server gets only its own key or none, never OpenAI's. Bedrock needs its URL and its own key. */
async function findServer(
  { memory: { embeddings }, apiKeys }: Configuration,
  secrets: Pick<Secrets, "get">,
): Promise<Server | undefined> {
  const { model, baseUrl, dimensions, apiKey: marker, questionPrefix = "", textPrefix = "" } = embeddings;
  if (model === undefined) return undefined;
  const prefixes = { question: questionPrefix, text: textPrefix };
  const ownKey = marker === secretMarker ? await secrets.get("memory.embeddings.apiKey") : undefined;
  if (embeddings.provider === bedrockProvider)
    return baseUrl && ownKey
      ? { ask: askBedrock, model, dimensions, prefixes, baseUrl, apiKey: ownKey }
      : undefined;
  const about = { ask: askOpenAi, model, dimensions, prefixes };
  if (baseUrl !== undefined) return { ...about, baseUrl, ...(ownKey ? { apiKey: ownKey } : {}) };
  const shared = apiKeys.openai === secretMarker ? await secrets.get("apiKeys.openai") : undefined;
  const apiKey = ownKey ?? shared;
  return apiKey ? { ...about, baseUrl: openAi, apiKey } : undefined;
}

const answerSchema = v.object({
  data: v.optional(v.array(v.object({ index: v.optional(v.number()), embedding: v.array(v.number()) }))),
  error: v.optional(v.object({ message: v.optional(v.string()) })),
});

/** Calls a server with OpenAI's API `/embeddings` (https://platform.openai.com/docs/api-reference/embeddings/create). */
const askOpenAi: AskForVectors = async (server, texts, _purpose, timeoutMs) => {
  const { baseUrl, model, apiKey, dimensions } = server;
  const called = await callPlatform(`${baseUrl.replace(/\/+$/, "")}/embeddings`, {
    ...(apiKey ? { headers: { authorization: `Bearer ${apiKey}` } } : {}),
    // Not all servers support `dimensions`: longer vectors are cut here, which has the same result.
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
