import type { Configuration, ModelConfiguration } from "../../configuration/schema.ts";
import { secretMarker } from "../../configuration/secret.ts";

/** The provider that works by the function's role, without a key. */
export const bedrockProvider = "amazon-bedrock";

/** The provider of every OpenAI-compatible server that is known by its address alone (`model.baseUrl`). */
export const compatibleProvider = "openai-compatible";

/** What is missing before a model can be asked, and how it is mended; undefined when nothing is known to be missing. */
export function missingFor(
  { provider, baseUrl }: Pick<ModelConfiguration, "provider" | "baseUrl">,
  { apiKeys }: Pick<Configuration, "apiKeys">,
): string | undefined {
  if (provider === bedrockProvider || baseUrl !== undefined) return undefined;
  if (provider === compatibleProvider)
    return `no address for ${provider}: gsv config set model.baseUrl <address of its API>`;
  return apiKeys[provider] === secretMarker ? undefined : noKey(provider);
}

/** That a provider has no key, and what sets one. */
export function noKey(provider: string): string {
  return `no key for ${provider}: gsv config set apiKeys.${provider} -`;
}
