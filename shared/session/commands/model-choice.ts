import type { Configuration, ModelConfiguration } from "../../configuration/schema.ts";
import { secretMarker } from "../../configuration/secret.ts";
import type { ModelRef, SessionSettings, ThinkingLevel } from "../../protocol/schemas.ts";
import type { Overrides } from "../inbox-entry.ts";
import { agentIdOf } from "../key/session-key.ts";

/**
 * The model of a run: from the message's directive, else the session's setting, else the agent's, else the
 * gateway's. Configured limits apply only to the model they are configured for; a base URL applies to all
 * models of its provider.
 */
export function effectiveModel(
  configuration: Configuration,
  sessionKey: string,
  settings: SessionSettings,
  overrides: Overrides = {},
): ModelConfiguration {
  const agentId = agentIdOf(sessionKey);
  const agent = configuration.agents.list.find((one) => one.id === agentId);
  const configured = [agent?.model, configuration.model].filter((model) => model !== undefined);
  const chosen: ModelRef | undefined = overrides.model ?? settings.model ?? configured[0];
  if (!chosen) return configuration.model;
  const known = configured.find((model) => model.provider === chosen.provider && model.id === chosen.id);
  if (known) return known;
  const sameProvider = configured.find((model) => model.provider === chosen.provider);
  return {
    provider: chosen.provider,
    id: chosen.id,
    ...(sameProvider?.baseUrl ? { baseUrl: sameProvider.baseUrl } : {}),
  };
}

/** The thinking level of a run. Undefined: the provider's default, which is no extended thinking. */
export function effectiveThinking(
  settings: SessionSettings,
  overrides: Overrides = {},
): ThinkingLevel | undefined {
  return overrides.thinkingLevel ?? settings.thinkingLevel;
}

/** The model and thinking level of a run: see `effectiveModel` and `effectiveThinking`. */
export function effectiveChoice(
  configuration: Configuration,
  sessionKey: string,
  settings: SessionSettings,
  overrides?: Overrides,
): { model: ModelConfiguration; thinkingLevel?: ThinkingLevel } {
  const thinkingLevel = effectiveThinking(settings, overrides);
  const model = effectiveModel(configuration, sessionKey, settings, overrides);
  return { model, ...(thinkingLevel ? { thinkingLevel } : {}) };
}

/** The provider that works by the function's role, without a key. */
export const bedrockProvider = "amazon-bedrock";

/** The provider of every OpenAI-compatible server that is identified only by its address (`model.baseUrl`). */
export const compatibleProvider = "openai-compatible";

/** What a model still needs before it can be used, and the command that sets it; undefined when nothing is known to be missing. */
export function missingFor(
  { provider, baseUrl }: Pick<ModelConfiguration, "provider" | "baseUrl">,
  { apiKeys }: Pick<Configuration, "apiKeys">,
): string | undefined {
  if (provider === bedrockProvider || baseUrl !== undefined) return undefined;
  if (provider === compatibleProvider)
    return `no address for ${provider}: gsv config set model.baseUrl <address of its API>`;
  return apiKeys[provider] === secretMarker ? undefined : noKey(provider);
}

/** Says that a provider has no key, and which command sets it. */
export function noKey(provider: string): string {
  return `no key for ${provider}: gsv config set apiKeys.${provider} -`;
}
