import * as v from "valibot";
import type { Configuration } from "../../configuration/schema.ts";
import { secretMarker } from "../../configuration/secret.ts";
import type { ConfigurationStore } from "../../configuration/store.ts";
import { callPlatform } from "../../http/platform-call.ts";
import { log } from "../../runtime/log.ts";
import { bedrockProvider, compatibleProvider } from "../../session/commands/model-choice.ts";
import type { Book } from "../../spend/book.ts";
import { openTab, usageOf } from "../../spend/pay-for.ts";
import type { PricedUsage } from "../../spend/price.ts";
import { servicePrice } from "../../spend/service-prices.ts";
import type { Secrets } from "../../world/world.ts";
import { askBedrock } from "./bedrock-embeddings.ts";
import {
  type AskForVectors,
  type EmbeddingsServer,
  type Purpose,
  refusedAnswer,
  unanswered,
  type VectorsAnswer,
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
  /** Settles what the calls cost. Call it after the last one. */
  settle(): Promise<void>;
}

/** The current embedder of an agent, which pays for it; undefined when none is configured or available. */
export type FindEmbedder = (agentId: string) => Promise<Embedder | undefined>;

export interface EmbedderOptions {
  configuration: Pick<ConfigurationStore, "load">;
  secrets: Pick<Secrets, "get">;
  book: Book;
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

/** A text has at most this many tokens a character, but for rare scripts. */
const maxTokensPerCharacter = 0.5;

/**
 * Finds the server of the setting `memory.embeddings`. Without a model there is none, and nothing is sent. Near a budget's limit
 * no vectors of texts are computed, and at the limit none of questions: then a search has only words.
 */
export function createFindEmbedder(options: EmbedderOptions): FindEmbedder {
  const { configuration, secrets, book, now, limits = usualLimits } = options;
  const resting = { server: "", until: 0 };
  return async (agentId) => {
    const server = await findServer(await configuration.load(), secrets);
    if (!server) return undefined;
    const place = `${server.baseUrl} ${server.model}`;
    if (resting.server === place && now() < resting.until) return undefined;
    const { model, dimensions, prefixes } = server;
    const payer = { kind: "maintenance", agentId, sessionKey: searchKey(agentId) } as const;
    const tab = openTab(book, payer.sessionKey);
    return {
      name: JSON.stringify([model, dimensions, prefixes.text]),
      async embed(texts, purpose) {
        const sent = texts.map((text) => prefixes[purpose] + text.slice(0, maxCharacters).toWellFormed());
        const inputTokens = Math.ceil(sent.join("").length * maxTokensPerCharacter);
        const occasion = { payer, model: `${server.provider}/${model}`, isDeferrable: purpose === "text" };
        const service = { occasion, inputTokens, listed: servicePrice(model) };
        const paid = await tab.pay(service, async () => {
          const value = await server.ask(server, sent, purpose, limits[purpose]);
          return { value, usage: usedBy(value, inputTokens) };
        });
        const answer =
          "refused" in paid ? { ok: false as const, reason: paid.refused, passing: false } : paid.value;
        if (answer.ok) return answer.vectors;
        log("recall.embeddings-failed", { purpose, texts: texts.length, reason: answer.reason });
        if (answer.passing) Object.assign(resting, { server: place, until: now() + restMs });
        return undefined;
      },
      settle: tab.settle,
    };
  };
}

/** What a server reports. Nothing is paid for a refusal. */
function usedBy(answer: VectorsAnswer, inputTokens: number): PricedUsage | "nothing" | "unknown" {
  if (answer.ok) return usageOf(answer.tokens ?? inputTokens);
  return answer.mayBeBilled ? "unknown" : "nothing";
}

/** Counts the vectors of an agent in the day's sums. Not a session's key: those have no such part. */
const searchKey = (agentId: string) => `agent:${agentId}:search of its conversations`;

type Server = EmbeddingsServer & { provider: string; ask: AskForVectors; prefixes: Record<Purpose, string> };

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
      ? { ask: askBedrock, provider: bedrockProvider, model, dimensions, prefixes, baseUrl, apiKey: ownKey }
      : undefined;
  const about = { ask: askOpenAi, model, dimensions, prefixes };
  if (baseUrl !== undefined)
    return { ...about, provider: compatibleProvider, baseUrl, ...(ownKey ? { apiKey: ownKey } : {}) };
  const shared = apiKeys.openai === secretMarker ? await secrets.get("apiKeys.openai") : undefined;
  const apiKey = ownKey ?? shared;
  return apiKey ? { ...about, provider: "openai", baseUrl: openAi, apiKey } : undefined;
}

const answerSchema = v.object({
  data: v.optional(v.array(v.object({ index: v.optional(v.number()), embedding: v.array(v.number()) }))),
  usage: v.optional(v.object({ total_tokens: v.optional(v.number()) })),
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
  if (!called.answered) return unanswered(called.reason);
  const { status, body } = called;
  const parsed = v.safeParse(answerSchema, body);
  const { data, error, usage } = parsed.success ? parsed.output : {};
  if (status !== 200) return refusedAnswer(status, error?.message, apiKey);
  const ordered = texts.map((_, place) => data?.find(({ index }, i) => (index ?? i) === place)?.embedding);
  return vectorsAnswer(ordered, dimensions, usage?.total_tokens);
};
