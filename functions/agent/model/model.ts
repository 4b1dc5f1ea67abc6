import type { Api, Model, Message as PiMessage, Tool } from "@earendil-works/pi-ai";
import type { ModelConfiguration } from "../../../shared/configuration/schema.ts";
import { secretMarker } from "../../../shared/configuration/secret.ts";
import type { ConfigurationStore } from "../../../shared/configuration/store.ts";
import type { AssistantMessage, Message, ToolDefinition } from "../../../shared/protocol/messages.ts";
import type { ThinkingLevel } from "../../../shared/protocol/schemas.ts";
import { log } from "../../../shared/runtime/log.ts";
import type { Secrets } from "../../../shared/world/world.ts";
import { type Deadline, withDeadline } from "./deadline.ts";
import type { MediaCache } from "./media-cache.ts";
import { providerWords } from "./provider-words.ts";
import {
  bedrockProvider,
  compatibleProvider,
  type LoadedProvider,
  loadCallTools,
  loadCompatible,
  loadProvider,
} from "./providers.ts";
import { showImages, withoutImages } from "./shown-images.ts";
import { alternateTurns } from "./wire/alternate-turns.ts";
import { toWire } from "./wire/wire-messages.ts";

/** Limits of a model that no catalogue knows: small enough for most servers. Tokens. */
const unknownModel = { contextWindow: 128_000, maxTokens: 8192 };

/** Tries of one call within the provider's client, on connection errors, 429 and 5xx. */
const maxRetries = 2;

export interface ModelCall {
  model: ModelConfiguration;
  thinkingLevel?: ThinkingLevel;
  /** Most tokens of the answer; absent: the model's own limit. */
  maxTokens?: number;
  systemPrompt: string;
  /** A whole transcript: every tool call is answered. Images are references. */
  messages: readonly Message[];
  tools: readonly ToolDefinition[];
  /** Lets providers keep a conversation's prompt cache together. */
  sessionId: string;
  signal: AbortSignal;
  timeoutMs: number;
  onText(text: string): void;
}

/** A failure of the model is a value: it ends the turn with a message, not the function with an error. */
export type ModelOutcome =
  | { status: "answered"; message: AssistantMessage }
  | { status: "aborted" }
  /** `overflow`: the conversation is too long for the model. */
  | { status: "failed"; error: string; overflow: boolean };

/** Calls a model, streaming its text. Does not throw for what the provider or the configuration gets wrong. */
export type CallModel = (call: ModelCall) => Promise<ModelOutcome>;

export function createCallModel(keys: KeySources, media: MediaCache): CallModel {
  return async (call) => {
    const resolved = await resolveModel(keys, call.model);
    if ("error" in resolved) return { status: "failed", error: resolved.error, overflow: false };
    return withDeadline(call.signal, call.timeoutMs, (deadline) =>
      // For a model without eyes pi-ai puts a note in place of each image.
      resolved.model.input.includes("image")
        ? askWithImages(resolved, call, media, deadline)
        : ask(resolved, call, deadline),
    );
  };
}

/** Asks a model that takes images; once more without them where the provider may have refused the call for its images. */
async function askWithImages(
  resolved: Resolved,
  call: ModelCall,
  media: MediaCache,
  deadline: Deadline,
): Promise<ModelOutcome> {
  let hasStreamed = false;
  const onText = (text: string) => {
    hasStreamed = true;
    call.onText(text);
  };
  const messages = await showImages(call.messages, media);
  const outcome = await ask(resolved, { ...call, messages, onText }, deadline);
  if (hasStreamed || deadline.passed || !mayBlameImages(outcome)) return outcome;
  const blind = withoutImages(call.messages);
  if (!blind) return outcome;
  const { sessionId, model } = call;
  log("images.refused", { sessionId, provider: model.provider, model: model.id });
  const second = await ask(resolved, { ...call, messages: blind }, deadline);
  return second.status === "failed" && !second.overflow ? outcome : second;
}

/**
 * Whether a provider may have refused the call for its images: one that it cannot read, or a model without eyes that no
 * catalogue knows. The images stay in the transcript, so every later call would be refused too.
 */
function mayBlameImages(outcome: ModelOutcome): boolean {
  if (outcome.status !== "failed" || outcome.overflow) return false;
  return /image|pixel|\bvision\b|multimodal|too large|\b413\b/i.test(outcome.error);
}

/** Asks the provider once, and where its client repeats the request, again. Images are in `call.messages` themselves. */
async function ask(
  { model, provider, apiKey }: Resolved,
  call: ModelCall,
  deadline: Deadline,
): Promise<ModelOutcome> {
  const { normalizeContext, isContextOverflow } = await loadCallTools();
  const context = normalizeContext({
    systemPrompt: call.systemPrompt,
    messages: toWire(call.messages, model) as PiMessage[],
    tools: call.tools.map(toTool),
  });
  try {
    const stream = provider.streamSimple(withRoomForAnswer(model), context, {
      apiKey,
      signal: deadline.signal,
      maxRetries,
      sessionId: call.sessionId,
      ...(call.model.provider === bedrockProvider ? { onPayload: alternateTurns } : {}),
      ...(call.maxTokens ? { maxTokens: call.maxTokens } : {}),
      ...(call.thinkingLevel && call.thinkingLevel !== "off" ? { reasoning: call.thinkingLevel } : {}),
    });
    for await (const event of stream) if (event.type === "text_delta") call.onText(event.delta);
    const message = await stream.result();
    if (call.signal.aborted) return { status: "aborted" };
    if (deadline.passed) return failed(`the model did not answer within ${call.timeoutMs / 1000} s`);
    if (message.stopReason === "error" || message.stopReason === "aborted") {
      return {
        ...failed(providerWords(withRemedy(message.errorMessage ?? "unknown error"))),
        overflow: isContextOverflow(message, model.contextWindow),
      };
    }
    // Some servers cut a conversation that is too long, and have no room left for an answer then.
    if (message.stopReason === "length" && isContextOverflow(message, model.contextWindow))
      return { ...failed("the conversation fills the model's context window"), overflow: true };
    return { status: "answered", message: toStored(message) };
  } catch (error) {
    if (call.signal.aborted) return { status: "aborted" };
    return failed(providerWords(error instanceof Error ? error.message : String(error)));
  }
}

/**
 * pi-ai keeps 4096 tokens of the window free when it limits an answer, which is most of a small window. Here they are a
 * sixteenth of it at most.
 */
function withRoomForAnswer(model: Model<Api>): Model<Api> {
  const { contextWindow } = model;
  return { ...model, contextWindow: contextWindow + Math.max(0, 4096 - Math.floor(contextWindow / 16)) };
}

/** What AWS says of an account in which nobody has opened the model yet does not say how that is done. */
function withRemedy(error: string): string {
  if (!/aws-marketplace|use[- ]case (details|form)/i.test(error)) return error;
  return `${error} (An administrator of the AWS account opens this model once, in the playground of the Amazon Bedrock console; some minutes later it answers here.)`;
}

function failed(error: string) {
  return { status: "failed", error: `LLM error: ${error}`, overflow: false } as const;
}

/** How many tokens a model holds, question and answer together: from the configuration, the catalogue, or a guess. */
export async function describeModel(chosen: ModelConfiguration): Promise<{ contextWindow: number }> {
  const { contextWindow } = chosen;
  if (contextWindow) return { contextWindow };
  const listed = (await loadProvider(chosen.provider))?.models.find((model) => model.id === chosen.id);
  return { contextWindow: listed?.contextWindow || unknownModel.contextWindow };
}

/** Where the keys of providers are, and which of them are set. */
export interface KeySources {
  configuration: Pick<ConfigurationStore, "load">;
  secrets: Pick<Secrets, "get">;
}

interface Resolved {
  provider: LoadedProvider;
  model: Model<Api>;
  apiKey: string;
}

async function resolveModel(
  { configuration, secrets }: KeySources,
  chosen: ModelConfiguration,
): Promise<Resolved | { error: string }> {
  const known = await loadProvider(chosen.provider);
  if (!known && !chosen.baseUrl) return { error: `Model not found: ${chosen.provider}/${chosen.id}` };
  const provider = known ?? (await loadCompatible());
  const listed = provider.models.find((model) => model.id === chosen.id);
  if (!listed && known && chosen.provider !== bedrockProvider && !chosen.baseUrl) {
    return { error: `Model not found: ${chosen.provider}/${chosen.id}` };
  }
  // Whoever calls has just read the configuration to choose the model. A key that it does not name may be a former stage's.
  const { apiKeys } = await configuration.load({ anyAge: true });
  const isSet = apiKeys[chosen.provider] === secretMarker;
  const apiKey = isSet ? await secrets.get(`apiKeys.${chosen.provider}`) : undefined;
  const keyless = chosen.provider === bedrockProvider || chosen.baseUrl !== undefined;
  if (!apiKey && !keyless) return { error: `API key not configured for provider: ${chosen.provider}` };
  const model = withConfiguration(listed ?? unlisted(chosen, provider), chosen);
  // Clients refuse to start without any key; servers without keys ignore it.
  const placeholder = chosen.provider === bedrockProvider ? "" : "none";
  return { provider, model, apiKey: apiKey ?? placeholder };
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
    ...(baseUrl ? { baseUrl } : {}),
    ...(contextWindow ? { contextWindow } : {}),
    ...(maxTokens ? { maxTokens } : {}),
  };
}

function toTool({ name, description, inputSchema }: ToolDefinition): Tool {
  return { name, description, parameters: inputSchema };
}

/** What is kept of a reply: everything that the provider needs to see again, without the client's diagnostics. */
function toStored(message: Extract<PiMessage, { role: "assistant" }>): AssistantMessage {
  const { content, api, provider, model, usage, stopReason, timestamp } = message;
  const { input, output, cacheRead, cacheWrite, totalTokens } = usage;
  return {
    role: "assistant",
    content: content as AssistantMessage["content"],
    api,
    provider,
    model,
    usage: { input, output, cacheRead, cacheWrite, totalTokens },
    stopReason,
    timestamp,
  };
}
