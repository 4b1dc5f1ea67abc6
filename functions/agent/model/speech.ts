import type { ConfigurationStore } from "../../../shared/configuration/store.ts";
import { callPlatform } from "../../../shared/http/platform-call.ts";
import type { Book } from "../../../shared/spend/book.ts";
import { openTab, type Served, usageOf } from "../../../shared/spend/pay-for.ts";
import { servicePrice } from "../../../shared/spend/service-prices.ts";
import type { Secrets } from "../../../shared/world/world.ts";
import type { Paying } from "../payer.ts";
import { type AudioServer, audioUrl, findAudioServer, keyHeader } from "./audio-server.ts";

/** Max length of a spoken text, in UTF-16 units: OpenAI's models read no more. */
export const maxSpoken = 4096;

/** A text as speech, or why there is none. `off`: it is switched off, or no server is configured. */
export type Speech =
  /** `audio`: Opus in Ogg, the format of messengers' voice messages. */
  { status: "spoken"; audio: Uint8Array } | { status: "off" } | { status: "failed"; reason: string };

/** Speaks a text of at most `maxSpoken`, unless a budget refuses it. A failure of the server is a result. */
export type Speak = (text: string, timeoutMs: number, paying: Paying) => Promise<Speech>;

export interface SpeakOptions {
  configuration: Pick<ConfigurationStore, "load">;
  secrets: Pick<Secrets, "get">;
  book: Book;
}

/** Speaks with any server that speaks OpenAI's API (https://platform.openai.com/docs/api-reference/audio/createSpeech). */
export function createSpeak({ configuration, secrets, book }: SpeakOptions): Speak {
  return async (text, timeoutMs, paying) => {
    const loaded = await configuration.load();
    const { enabled, voice } = loaded.speech;
    const server = enabled ? await findAudioServer("speech", loaded, secrets) : undefined;
    if (!server) return { status: "off" };
    const { provider, model, baseUrl } = server;
    const service = {
      occasion: { ...paying, model: `${provider}/${model}`, server: baseUrl },
      // Servers report no usage; its unit here is a character.
      inputTokens: text.length,
      listed: servicePrice(model),
    };
    const tab = openTab(book, paying.payer.sessionKey);
    const paid = await tab.pay(service, () => ask(server, voice, text, timeoutMs));
    await tab.settle();
    return "refused" in paid ? { status: "failed", reason: paid.refused } : paid.value;
  };
}

async function ask(
  server: AudioServer,
  voice: string,
  input: string,
  timeoutMs: number,
): Promise<Served<Speech>> {
  const { model } = server;
  const called = await callPlatform(audioUrl(server, "speech"), {
    headers: keyHeader(server),
    body: { model, voice, input, response_format: "opus" },
    timeoutMs,
    isBinary: true,
  });
  if (!called.answered) return { value: { status: "failed", reason: called.reason }, usage: "unknown" };
  const { status } = called;
  const audio = called.body as Uint8Array;
  if (status === 200) {
    const isOgg = Buffer.from(audio.subarray(0, 4)).toString("latin1") === "OggS";
    const value: Speech = isOgg
      ? { status: "spoken", audio }
      : { status: "failed", reason: "the server returned no audio in Ogg" };
    return { value, usage: usageOf(input.length) };
  }
  // The log gets this reason: a server's own words may quote the text.
  return {
    value: { status: "failed", reason: `the server refused with status ${status}` },
    usage: "nothing",
  };
}
