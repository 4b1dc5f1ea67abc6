import type { Configuration, ModelConfiguration } from "../../configuration/schema.ts";
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
