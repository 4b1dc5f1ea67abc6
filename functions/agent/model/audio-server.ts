import type { Configuration } from "../../../shared/configuration/schema.ts";
import { secretMarker } from "../../../shared/configuration/secret.ts";
import { compatibleProvider } from "../../../shared/session/commands/model-choice.ts";
import type { Secrets } from "../../../shared/world/world.ts";

/** The default server. */
const openAi = "https://api.openai.com/v1";

/** A model behind the audio endpoints of OpenAI's API (https://platform.openai.com/docs/api-reference/audio). */
export interface AudioServer {
  /** For prices and reports. */
  provider: string;
  baseUrl: string;
  model: string;
  apiKey?: string;
}

/**
 * The configured server: OpenAI's without an address. A configured one gets its own key or none, never OpenAI's.
 * @returns undefined if OpenAI's key is missing
 */
export async function findAudioServer(
  use: "transcription" | "speech",
  { [use]: settings, apiKeys }: Configuration,
  secrets: Pick<Secrets, "get">,
): Promise<AudioServer | undefined> {
  const { baseUrl, model, apiKey: marker } = settings;
  const ownKey = marker === secretMarker ? await secrets.get(`${use}.apiKey`) : undefined;
  if (baseUrl !== undefined)
    return { provider: compatibleProvider, baseUrl, model, ...(ownKey ? { apiKey: ownKey } : {}) };
  const shared = apiKeys.openai === secretMarker ? await secrets.get("apiKeys.openai") : undefined;
  const apiKey = ownKey ?? shared;
  return apiKey ? { provider: "openai", baseUrl: openAi, model, apiKey } : undefined;
}

/** The address of an endpoint. */
export function audioUrl({ baseUrl }: AudioServer, endpoint: "transcriptions" | "speech"): string {
  return `${baseUrl.replace(/\/+$/, "")}/audio/${endpoint}`;
}

/** The header with the server's key, if it has one. */
export function keyHeader({ apiKey }: AudioServer): Record<string, string> {
  return apiKey ? { authorization: `Bearer ${apiKey}` } : {};
}
