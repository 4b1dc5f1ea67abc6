import * as v from "valibot";
import type { Configuration } from "../../../shared/configuration/schema.ts";
import { secretMarker } from "../../../shared/configuration/secret.ts";
import type { ConfigurationStore } from "../../../shared/configuration/store.ts";
import {
  callPlatform,
  fileOf,
  isPassing,
  type PlatformRequest,
  plainReason,
} from "../../../shared/http/platform-call.ts";
import { essenceOf, extensionOf } from "../../../shared/media/media-types.ts";
import type { Secrets } from "../../../shared/world/world.ts";

/** The default server. */
const openAi = "https://api.openai.com/v1";

/** Attempts to transcribe a recording: a failure may be temporary. */
const maxTries = 2;

/** Max length of one recording's text, in UTF-16 units: about two hours of speech. */
const maxText = 100_000;

/** The text of a recording, or why there is none. `off`: no transcription is configured. */
export type Transcription =
  | { status: "transcribed"; text: string }
  | { status: "off" }
  /** `passing`: it may succeed later. */
  | { status: "failed"; reason: string; passing: boolean };

/** Transcribes a recording. Does not throw. */
export type Transcribe = (
  recording: { body: Uint8Array; mimeType: string },
  /** For all attempts together. */
  timeoutMs: number,
) => Promise<Transcription>;

export interface TranscribeOptions {
  configuration: Pick<ConfigurationStore, "load">;
  secrets: Pick<Secrets, "get">;
}

/** Transcribes with any server that speaks OpenAI's API (https://platform.openai.com/docs/api-reference/audio/createTranscription). */
export function createTranscribe({ configuration, secrets }: TranscribeOptions): Transcribe {
  return async ({ body, mimeType }, timeoutMs) => {
    const time = { timeoutMs, signal: AbortSignal.timeout(timeoutMs) };
    const provider = await findProvider(await configuration.load(), secrets);
    if (!provider) return { status: "off" };
    // Servers detect the format by the file name's extension.
    const filename = `voice.${extensionOf(mimeType)}`;
    const file = fileOf({ filename, mimeType: essenceOf(mimeType), body });
    for (let tries = 1; ; tries++) {
      const form = new FormData();
      form.append("file", file);
      form.append("model", provider.model);
      form.append("response_format", "json");
      const outcome = await ask(provider, form, time);
      const mayPass = outcome.status === "failed" && outcome.passing && !time.signal.aborted;
      if (!mayPass || tries >= maxTries) return outcome;
    }
  };
}

interface Provider {
  baseUrl: string;
  model: string;
  apiKey?: string;
}

/** A configured server gets its own key or none, never OpenAI's. */
async function findProvider(
  { transcription, apiKeys }: Configuration,
  secrets: Pick<Secrets, "get">,
): Promise<Provider | undefined> {
  const { enabled, baseUrl, model, apiKey: marker } = transcription;
  if (enabled === false) return undefined;
  const ownKey = marker === secretMarker ? await secrets.get("transcription.apiKey") : undefined;
  if (baseUrl !== undefined) return { baseUrl, model, ...(ownKey ? { apiKey: ownKey } : {}) };
  const shared = apiKeys.openai === secretMarker ? await secrets.get("apiKeys.openai") : undefined;
  const apiKey = ownKey ?? shared;
  return apiKey ? { baseUrl: openAi, model, apiKey } : undefined;
}

const answerSchema = v.object({
  text: v.optional(v.string()),
  error: v.optional(v.object({ message: v.optional(v.string()) })),
});

async function ask(
  { baseUrl, apiKey }: Provider,
  form: FormData,
  time: Pick<PlatformRequest, "timeoutMs" | "signal">,
): Promise<Transcription> {
  const called = await callPlatform(`${baseUrl.replace(/\/+$/, "")}/audio/transcriptions`, {
    ...(apiKey ? { headers: { authorization: `Bearer ${apiKey}` } } : {}),
    form,
    ...time,
  });
  if (!called.answered) return failed(true, called.reason);
  const { status, body } = called;
  const parsed = v.safeParse(answerSchema, body);
  const { text, error } = parsed.success ? parsed.output : {};
  if (status === 200 && text !== undefined)
    return { status: "transcribed", text: text.trim().slice(0, maxText).toWellFormed() };
  const message = error?.message ?? "without a reason";
  return failed(isPassing(status), plainReason(`${status} ${message}`, apiKey));
}

function failed(passing: boolean, reason: string): Transcription {
  return { status: "failed", reason, passing };
}
