import { afterEach, beforeEach, expect, it } from "vitest";
import { createSpeak } from "../../../functions/agent/model/speech.ts";
import { defaults } from "../../../shared/configuration/defaults.ts";
import type { Configuration } from "../../../shared/configuration/schema.ts";
import type { Book } from "../../../shared/spend/book.ts";
import { readDay } from "../../../shared/spend/day-view.ts";
import { type SpeechServer, startSpeechServer } from "../../support/models/speech-server.ts";
import { newBook } from "../../support/payment.ts";

let server: SpeechServer;
beforeEach(async () => {
  server = await startSpeechServer();
});
afterEach(() => server.close());

function speaker(speech: object, { secrets = {}, apiKeys = {}, book = newBook() }: Partial<Over> = {}) {
  const configuration = { ...defaults, apiKeys, speech: { ...defaults.speech, ...speech } };
  const speak = createSpeak({
    configuration: { load: async () => configuration as Configuration },
    secrets: { get: async (path) => secrets[path] },
    book,
  });
  const payer = { kind: "turn", agentId: "main", sessionKey: "agent:main:main" } as const;
  return (text: string) => speak(text, 10_000, { payer });
}

interface Over {
  secrets: Record<string, string>;
  apiKeys: Record<string, string>;
  book: Book;
}

const own = (book?: Book) =>
  speaker(
    { enabled: true, baseUrl: `${server.url}/v1/`, apiKey: "***", voice: "nova" },
    { secrets: { "speech.apiKey": server.apiKey }, ...(book ? { book } : {}) },
  );
const today = (book: Book) => readDay(book.table, new Date().toISOString().slice(0, 10));

it("a text is spoken by the configured server, at the price of its characters", async () => {
  const book = newBook();
  expect(await own(book)("Buy milk.")).toEqual({ status: "spoken", audio: new Uint8Array(server.audio) });
  expect(server.requests).toEqual([{ model: "tts-1", voice: "nova", input: "Buy milk." }]);
  // Nine characters at $15 a million.
  expect((await today(book)).sums).toEqual({ all: 135 });
});

it("nothing is spoken unless it is switched on and a server is configured", async () => {
  const secrets = { "apiKeys.openai": "sk-openai" };
  expect(await speaker({ baseUrl: server.url })("a")).toEqual({ status: "off" });
  expect(await speaker({}, { secrets, apiKeys: { openai: "***" } })("a")).toEqual({ status: "off" });
  expect(await speaker({ enabled: true })("a")).toEqual({ status: "off" });
  expect(server.calls).toEqual([]);
});

it("another server never gets OpenAI's key", async () => {
  const over = { secrets: { "apiKeys.openai": "sk-openai" }, apiKeys: { openai: "***" } };
  const speak = speaker({ enabled: true, baseUrl: `${server.url}/v1` }, over);
  expect(await speak("a")).toMatchObject({ status: "failed" });
  expect(server.calls).toHaveLength(1);
  expect(server.calls[0]?.headers).not.toHaveProperty("authorization");
});

it("a refusal costs nothing, and its reason has none of the server's words", async () => {
  const book = newBook();
  server.fail("speech", { status: 400, body: { error: { message: "input: 'my secret' is too short" } } });
  expect(await own(book)("my secret")).toEqual({
    status: "failed",
    reason: "the server refused with status 400",
  });
  expect((await today(book)).sums.all).toBe(0);
});

it("an answer in another format is refused", async () => {
  server.fail("speech", { status: 200, body: Buffer.from("ID3 mp3") });
  expect(await own()("a")).toEqual({ status: "failed", reason: "the server returned no audio in Ogg" });
});

it("a budget's limit is never passed: then nothing is sent", async () => {
  const book = newBook({ rules: [{ id: "day", scope: "all", usd: 0.001, atLimit: "refuse" }] });
  const reason = expect.stringMatching(/^budget: /);
  expect(await own(book)("x".repeat(4000))).toEqual({ status: "failed", reason });
  expect(server.calls).toEqual([]);
});
