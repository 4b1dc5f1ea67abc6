import * as v from "valibot";
import type { ConfigurationStore } from "../../../shared/configuration/store.ts";
import {
  callPlatform,
  fileOf,
  isPassing,
  type PlatformRequest,
  plainReason,
} from "../../../shared/http/platform-call.ts";
import { essenceOf, extensionOf } from "../../../shared/media/media-types.ts";
import type { Book } from "../../../shared/spend/book.ts";
import { openTab, type Served, usageOf } from "../../../shared/spend/pay-for.ts";
import { audioTokensPerSecond, servicePrice } from "../../../shared/spend/service-prices.ts";
import type { Secrets } from "../../../shared/world/world.ts";
import type { Paying } from "../payer.ts";
import { type AudioServer, audioUrl, findAudioServer, keyHeader } from "./audio-server.ts";

/** Attempts to transcribe a recording: a failure may be temporary. */
const maxTries = 2;

/** Max length of one recording's text, in UTF-16 units: about two hours of speech. */
const maxText = 100_000;

/** Bytes of a second of a voice note in Opus. A recording in another format counts as longer unless the server reports its length. */
const bytesPerSecond = 2000;

/** A transcription costs at most this many times its audio: some models also bill the text. */
const maxShare = 2;

/** The text of a recording, or why there is none. `off`: no transcription is configured. */
export type Transcription =
  | { status: "transcribed"; text: string }
  | { status: "off" }
  /** `passing`: it may succeed later. */
  | { status: "failed"; reason: string; passing: boolean };

/** Transcribes a recording, unless a budget refuses it. A failure of the server is a result. */
export type Transcribe = (
  recording: { body: Uint8Array; mimeType: string },
  /** For all attempts together. */
  timeoutMs: number,
  paying: Paying,
) => Promise<Transcription>;

export interface TranscribeOptions {
  configuration: Pick<ConfigurationStore, "load">;
  secrets: Pick<Secrets, "get">;
  book: Book;
}

/** Transcribes with any server that speaks OpenAI's API (https://platform.openai.com/docs/api-reference/audio/createTranscription). */
export function createTranscribe({ configuration, secrets, book }: TranscribeOptions): Transcribe {
  return async ({ body, mimeType }, timeoutMs, paying) => {
    const time = { timeoutMs, signal: AbortSignal.timeout(timeoutMs) };
    const loaded = await configuration.load();
    if (loaded.transcription.enabled === false) return { status: "off" };
    const provider = await findAudioServer("transcription", loaded, secrets);
    if (!provider) return { status: "off" };
    // Servers detect the format by the file name's extension.
    const filename = `voice.${extensionOf(mimeType)}`;
    const file = fileOf({ filename, mimeType: essenceOf(mimeType), body });
    const { provider: name, model, baseUrl: server } = provider;
    const tokens = Math.ceil((body.length / bytesPerSecond) * audioTokensPerSecond);
    const service = {
      occasion: { ...paying, model: `${name}/${model}`, server },
      inputTokens: tokens * maxShare,
      listed: servicePrice(model),
    };
    const tab = openTab(book, paying.payer.sessionKey);
    for (let tries = 1; ; tries++) {
      const form = new FormData();
      form.append("file", file);
      form.append("model", provider.model);
      form.append("response_format", "json");
      const paid = await tab.pay(service, () => ask(provider, form, time, tokens));
      await tab.settle();
      if ("refused" in paid) return failed(false, paid.refused);
      const outcome = paid.value;
      const mayPass = outcome.status === "failed" && outcome.passing && !time.signal.aborted;
      if (!mayPass || tries >= maxTries) return outcome;
    }
  };
}

const answerSchema = v.object({
  text: v.optional(v.string()),
  /** Whisper reports seconds, GPT-4o tokens, other servers nothing. */
  usage: v.optional(
    v.object({
      seconds: v.optional(v.number()),
      input_tokens: v.optional(v.number()),
      output_tokens: v.optional(v.number()),
    }),
  ),
  error: v.optional(v.object({ message: v.optional(v.string()) })),
});

async function ask(
  server: AudioServer,
  form: FormData,
  time: Pick<PlatformRequest, "timeoutMs" | "signal">,
  tokens: number,
): Promise<Served<Transcription>> {
  const { apiKey } = server;
  const called = await callPlatform(audioUrl(server, "transcriptions"), {
    headers: keyHeader(server),
    form,
    ...time,
  });
  if (!called.answered) return { value: failed(true, called.reason), usage: "unknown" };
  const { status, body } = called;
  const parsed = v.safeParse(answerSchema, body);
  const { text, error, usage = {} } = parsed.success ? parsed.output : {};
  if (status === 200 && text !== undefined) {
    const { seconds = tokens / audioTokensPerSecond, input_tokens, output_tokens } = usage;
    return {
      value: { status: "transcribed", text: text.trim().slice(0, maxText).toWellFormed() },
      usage: usageOf(input_tokens ?? Math.ceil(seconds * audioTokensPerSecond), output_tokens),
    };
  }
  const message = error?.message ?? "without a reason";
  const value = failed(isPassing(status), plainReason(`${status} ${message}`, apiKey));
  return { value, usage: status === 200 ? "unknown" : "nothing" };
}

function failed(passing: boolean, reason: string): Transcription {
  return { status: "failed", reason, passing };
}
