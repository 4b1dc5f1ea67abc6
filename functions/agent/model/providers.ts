import type { Api, Model, ProviderStreams } from "@earendil-works/pi-ai";

/** A provider's module: its catalogue of models, and a function that calls them. */
export interface LoadedProvider {
  models: readonly Model<Api>[];
  streamSimple: ProviderStreams["streamSimple"];
}

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

const loadedProviders = new Map<string, () => Promise<LoadedProvider>>();

/** Loads a provider on first use. Undefined for an unknown one, which can still be called through `model.baseUrl`. */
export async function loadProvider(id: string): Promise<LoadedProvider | undefined> {
  const loader = Object.hasOwn(loaders, id) ? loaders[id] : undefined;
  if (!loader) return undefined;
  const known = loadedProviders.get(id) ?? loadOnce(loader);
  loadedProviders.set(id, known);
  return known();
}

/** The wire format that any OpenAI-compatible server speaks. */
export const loadCompatible = loadOnce(async (): Promise<LoadedProvider> => {
  const { streamSimple } = await import("@earendil-works/pi-ai/api/openai-completions");
  return { models: [], streamSimple: streamSimple as ProviderStreams["streamSimple"] };
});

/** The parts of pi-ai that every call needs. */
export const loadCallTools = loadOnce(async () => {
  const { normalizeContext } = await import("@earendil-works/pi-ai/utils/transcript");
  const { isContextOverflow } = await import("@earendil-works/pi-ai/utils/overflow");
  return { normalizeContext, isContextOverflow };
});

/** Caches the result: an `import()` costs time even when its module is already loaded. A failure is not cached. */
function loadOnce<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | undefined;
  return () => {
    loading ??= load().catch((error: unknown) => {
      loading = undefined;
      throw error;
    });
    return loading;
  };
}

/** pi-ai imports Bedrock by a computed name that a bundler cannot follow, so the module is passed to it. */
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
