import { isIP } from "node:net";
import { isPublicAddress } from "../../shared/http/guarded-fetch.ts";
import type { ModelSettings } from "./dev-state.ts";

type Environment = Record<string, string | undefined>;

/** The model that the environment variables select. */
export interface ModelChoice {
  settings: ModelSettings;
  /** API key; stored as a secret of the gateway under `apiKeys.{provider}`. */
  apiKey?: string;
  /** Whether GSV_MODEL names this model. It then takes precedence over the configured one. */
  named: boolean;
  /** A server of this machine or its network that needs no key: nobody bills its calls. */
  isFree: boolean;
  /** User-readable reason of the choice. */
  because: string;
}

/** Providers by the variable of their API key, in order of precedence. */
const keyed = [
  { variable: "ANTHROPIC_API_KEY", provider: "anthropic" },
  { variable: "OPENAI_API_KEY", provider: "openai" },
  { variable: "GEMINI_API_KEY", provider: "google" },
  { variable: "OPENROUTER_API_KEY", provider: "openrouter" },
] as const;

/** The model of each provider that is used when GSV_MODEL names none: ids of pi-ai's catalogue. */
export const defaultModels: Record<(typeof keyed)[number]["provider"], string> = {
  anthropic: "claude-sonnet-5",
  openai: "gpt-6-sol",
  google: "gemini-3.8-flash",
  openrouter: "anthropic/claude-sonnet-5",
};

/** The provider name of servers that are configured by their address only. */
export const compatibleProvider = "openai-compatible";

/**
 * Selects GSV_MODEL_BASE_URL with GSV_MODEL, otherwise the first provider with an API key. Undefined without
 * either.
 * @throws Error, one line, when the variables contradict each other
 */
export function chooseModel(env: Environment): ModelChoice | undefined {
  const { GSV_MODEL_BASE_URL: baseUrl, GSV_MODEL: id, GSV_MODEL_API_KEY: apiKey } = env;
  if (baseUrl) {
    if (!id) throw new Error("GSV_MODEL_BASE_URL is set without GSV_MODEL; name the server's model there");
    if (!URL.canParse(baseUrl))
      throw new Error("GSV_MODEL_BASE_URL is not a url, such as http://127.0.0.1:11434/v1");
    const isFree = !apiKey && isNearby(new URL(baseUrl).hostname);
    return {
      settings: { provider: compatibleProvider, id, baseUrl },
      ...(apiKey ? { apiKey } : {}),
      named: true,
      isFree,
      because: `GSV_MODEL_BASE_URL, ${baseUrl}${isFree ? "; counted as free" : ""}`,
    };
  }
  const found = keyed.find(({ variable }) => env[variable]);
  if (found === undefined) {
    if (id)
      throw new Error("GSV_MODEL is set without GSV_MODEL_BASE_URL or a provider's key; set one of them");
    return undefined;
  }
  const settings = { provider: found.provider, id: id || defaultModels[found.provider] };
  return {
    settings,
    apiKey: env[found.variable],
    named: Boolean(id),
    isFree: false,
    because: found.variable,
  };
}

/** Whether a host is this machine, or a name or an address of its network. */
function isNearby(host: string): boolean {
  const address = host.replace(/^\[|\]$/g, "");
  if (isIP(address) !== 0) return !isPublicAddress(address);
  return !host.includes(".") || /\.(local|lan|internal|home\.arpa)$/.test(host);
}

/** Whether these settings name the built-in offline model, of this or an earlier start. */
export function isOffline(model: ModelSettings | undefined): boolean {
  return model?.provider === compatibleProvider && model.id === "offline";
}
