import type { Api, Model } from "@earendil-works/pi-ai";
import type { ModelConfiguration } from "../../../shared/configuration/schema.ts";
import { secretMarker } from "../../../shared/configuration/secret.ts";
import type { ConfigurationStore } from "../../../shared/configuration/store.ts";
import {
  bedrockProvider,
  compatibleProvider,
  missingFor,
  noKey,
} from "../../../shared/session/commands/model-choice.ts";
import type { Secrets } from "../../../shared/world/world.ts";
import { type LoadedProvider, loadCompatible, loadProvider } from "./providers.ts";

/** Limits of a model that is in no catalogue: small enough for most servers. Tokens. */
const unknownModel = { contextWindow: 128_000, maxTokens: 8192 };

/**
 * Default limits on Bedrock. When a call begins, Bedrock deducts the input and the max tokens of the answer from the
 * account's quota, which is small for a new account. A conversation that fills a window of a million tokens costs dollars
 * per call. Tokens.
 */
const bedrockLimits = { contextWindow: 200_000, maxTokens: 16_384 };

/** A model's limits in tokens, and its prices if a catalogue has them. */
export interface DescribedModel {
  /** Request and answer together. */
  contextWindow: number;
  /** Of an answer, at the first attempt. */
  maxTokens: number;
  cost?: Model<Api>["cost"];
}

/** Describes a model: from the configuration, the catalogue, or a guess. */
export async function describeModel(chosen: ModelConfiguration): Promise<DescribedModel> {
  const listed = (await loadProvider(chosen.provider))?.models.find((model) => model.id === chosen.id);
  const known = listed?.contextWindow || unknownModel.contextWindow;
  return {
    contextWindow: chosen.contextWindow ?? usedWindow(chosen, known),
    maxTokens: chosen.maxTokens ?? firstLimit(chosen, listed?.maxTokens || unknownModel.maxTokens),
    ...(listed ? { cost: listed.cost } : {}),
  };
}

/** The part of a model's window that is used. @param contextWindow the model's own, in tokens */
function usedWindow({ provider }: ModelConfiguration, contextWindow: number): number {
  return provider === bedrockProvider ? Math.min(contextWindow, bedrockLimits.contextWindow) : contextWindow;
}

/** The secret store with the providers' keys, and the configuration that says which of them are set. */
export interface KeySources {
  configuration: Pick<ConfigurationStore, "load">;
  secrets: Pick<Secrets, "get">;
}

/** A model that can be called. */
export interface Resolved {
  provider: LoadedProvider;
  model: Model<Api>;
  apiKey: string;
  /** Default max tokens of an answer, below the model's own limit. If an answer is cut off there, the call is repeated without it. */
  maxTokens?: number;
}

/** The chosen model with its provider and key, or an error that says what is missing. */
export async function resolveModel(
  { configuration, secrets }: KeySources,
  chosen: ModelConfiguration,
): Promise<Resolved | { error: string }> {
  const known = await loadProvider(chosen.provider);
  if (!known && !chosen.baseUrl) return { error: unknownText(chosen) };
  const provider = known ?? (await loadCompatible());
  const listed = provider.models.find((model) => model.id === chosen.id);
  if (!listed && known && chosen.provider !== bedrockProvider && !chosen.baseUrl) {
    return { error: unknownText(chosen) };
  }
  // The caller has just read the configuration to choose the model, so the cached one is fresh. A stored key that the
  // configuration does not name may be left over from a former stage.
  const { apiKeys } = await configuration.load({ anyAge: true });
  const isSet = apiKeys[chosen.provider] === secretMarker;
  const apiKey = isSet ? await secrets.get(`apiKeys.${chosen.provider}`) : undefined;
  const keyless = chosen.provider === bedrockProvider || chosen.baseUrl !== undefined;
  if (!apiKey && !keyless) return { error: noKey(chosen.provider) };
  const model = withConfiguration(listed ?? unlisted(chosen, provider), chosen);
  // Clients refuse to start without any key; servers without keys ignore it.
  const placeholder = chosen.provider === bedrockProvider ? "" : "none";
  const isReserved = chosen.provider === bedrockProvider && chosen.maxTokens === undefined;
  const first = isReserved ? { maxTokens: firstLimit(chosen, model.maxTokens) } : {};
  return { provider, model, apiKey: apiKey ?? placeholder, ...first };
}

function firstLimit({ provider }: ModelConfiguration, maxTokens: number): number {
  return provider === bedrockProvider ? Math.min(bedrockLimits.maxTokens, maxTokens) : maxTokens;
}

function unknownText({ provider, id }: ModelConfiguration): string {
  return provider === compatibleProvider
    ? (missingFor({ provider }, { apiKeys: {} }) ?? "")
    : `there is no model ${provider}/${id}; choose another with /model, or set model.baseUrl for a server of your own`;
}

function unlisted(chosen: ModelConfiguration, provider: LoadedProvider): Model<Api> {
  const sibling = provider.models[0];
  return {
    id: chosen.id,
    name: chosen.id,
    api: sibling?.api ?? "openai-completions",
    provider: sibling?.provider ?? compatibleProvider,
    baseUrl: sibling?.baseUrl ?? "",
    reasoning: false,
    input: ["text", "image"],
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    ...unknownModel,
  };
}

function withConfiguration(model: Model<Api>, chosen: ModelConfiguration): Model<Api> {
  const { baseUrl, contextWindow, maxTokens } = chosen;
  return {
    ...model,
    contextWindow: usedWindow(chosen, model.contextWindow),
    ...(baseUrl ? { baseUrl } : {}),
    ...(contextWindow ? { contextWindow } : {}),
    ...(maxTokens ? { maxTokens } : {}),
  };
}
