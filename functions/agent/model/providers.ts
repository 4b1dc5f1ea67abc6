import type { Api, Model, ProviderStreams } from "@earendil-works/pi-ai";

/** What a provider's module gives: its catalogue of models and how to call them. */
export interface LoadedProvider {
  models: readonly Model<Api>[];
  streamSimple: ProviderStreams["streamSimple"];
}

/** The provider of every OpenAI-compatible server that is known by its address alone (`model.baseUrl`). */
export const compatibleProvider = "openai-compatible";

/** The provider that works by the function's role, without a key. */
export const bedrockProvider = "amazon-bedrock";

/**
 * One import for each provider, so that each becomes a chunk of its own and a call loads only what it uses.
 * Names are pi-ai's provider ids.
 */
const loaders: Record<string, () => Promise<LoadedProvider>> = {
  "amazon-bedrock": loadBedrock,
  anthropic: async () =>
    loaded((await import("@earendil-works/pi-ai/providers/anthropic")).anthropicProvider()),
  cerebras: async () => loaded((await import("@earendil-works/pi-ai/providers/cerebras")).cerebrasProvider()),
  deepseek: async () => loaded((await import("@earendil-works/pi-ai/providers/deepseek")).deepseekProvider()),
  fireworks: async () =>
    loaded((await import("@earendil-works/pi-ai/providers/fireworks")).fireworksProvider()),
  google: async () => loaded((await import("@earendil-works/pi-ai/providers/google")).googleProvider()),
  groq: async () => loaded((await import("@earendil-works/pi-ai/providers/groq")).groqProvider()),
  huggingface: async () =>
    loaded((await import("@earendil-works/pi-ai/providers/huggingface")).huggingfaceProvider()),
  minimax: async () => loaded((await import("@earendil-works/pi-ai/providers/minimax")).minimaxProvider()),
  mistral: async () => loaded((await import("@earendil-works/pi-ai/providers/mistral")).mistralProvider()),
  moonshotai: async () =>
    loaded((await import("@earendil-works/pi-ai/providers/moonshotai")).moonshotaiProvider()),
  nvidia: async () => loaded((await import("@earendil-works/pi-ai/providers/nvidia")).nvidiaProvider()),
  openai: async () => loaded((await import("@earendil-works/pi-ai/providers/openai")).openaiProvider()),
  openrouter: async () =>
    loaded((await import("@earendil-works/pi-ai/providers/openrouter")).openrouterProvider()),
  together: async () => loaded((await import("@earendil-works/pi-ai/providers/together")).togetherProvider()),
  "vercel-ai-gateway": async () =>
    loaded((await import("@earendil-works/pi-ai/providers/vercel-ai-gateway")).vercelAIGatewayProvider()),
  xai: async () => loaded((await import("@earendil-works/pi-ai/providers/xai")).xaiProvider()),
  zai: async () => loaded((await import("@earendil-works/pi-ai/providers/zai")).zaiProvider()),
};

/** Undefined for a provider that is not known: it can still be called through `model.baseUrl`. */
export async function loadProvider(id: string): Promise<LoadedProvider | undefined> {
  return Object.hasOwn(loaders, id) ? loaders[id]?.() : undefined;
}

/** The wire format that any OpenAI-compatible server speaks. */
export async function loadCompatible(): Promise<LoadedProvider> {
  const api = (await import("@earendil-works/pi-ai/api/openai-completions.lazy")).openAICompletionsApi();
  return { models: [], streamSimple: api.streamSimple };
}

/** pi-ai imports Bedrock by a name that a bundler cannot follow, so it is handed over. */
async function loadBedrock(): Promise<LoadedProvider> {
  const { setBedrockProviderModule } = await import("@earendil-works/pi-ai/api/bedrock-converse-stream.lazy");
  const { bedrockProviderModule } = await import("@earendil-works/pi-ai/bedrock-provider");
  setBedrockProviderModule(bedrockProviderModule);
  return loaded((await import("@earendil-works/pi-ai/providers/amazon-bedrock")).amazonBedrockProvider());
}

function loaded(provider: {
  getModels(): readonly Model<Api>[];
  streamSimple: ProviderStreams["streamSimple"];
}): LoadedProvider {
  const streamSimple: ProviderStreams["streamSimple"] = (model, context, options) =>
    provider.streamSimple(model, context, options);
  return { models: provider.getModels(), streamSimple };
}
