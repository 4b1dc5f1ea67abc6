import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createTranscribe } from "../../../functions/agent/model/transcription.ts";
import { defaults } from "../../../shared/configuration/defaults.ts";
import type { Configuration } from "../../../shared/configuration/schema.ts";
import type { Book } from "../../../shared/spend/book.ts";
import { readDay } from "../../../shared/spend/day-view.ts";
import {
  startTranscriptionServer,
  type TranscriptionServer,
} from "../../support/models/transcription-server.ts";
import { newBook } from "../../support/payment.ts";

let server: TranscriptionServer;
beforeEach(async () => {
  server = await startTranscriptionServer(" Buy milk.\n");
});
afterEach(() => server.close());

const recording = { body: Buffer.from("OggS"), mimeType: "audio/ogg; codecs=opus" };

function transcriber(
  transcription: object,
  secrets: Record<string, string> = {},
  apiKeys = {},
  book = newBook(),
) {
  const configuration = { ...defaults, apiKeys, transcription: { model: "whisper-1", ...transcription } };
  const transcribe = createTranscribe({
    configuration: { load: async () => configuration as Configuration },
    secrets: { get: async (path) => secrets[path] },
    book,
  });
  const payer = { kind: "turn", agentId: "main", sessionKey: "agent:main:main" } as const;
  return (...[what, timeoutMs]: [typeof recording, number]) => transcribe(what, timeoutMs, { payer });
}

const own = (book = newBook(), model = "whisper-1") =>
  transcriber(
    { model, baseUrl: `${server.url}/v1/`, apiKey: "***" },
    { "transcription.apiKey": server.apiKey },
    {},
    book,
  );

describe("what a transcription costs", () => {
  const rules = [{ id: "day", scope: "all", usd: 0.01, atLimit: "refuse" }] as const;
  const today = (book: Book) => readDay(book.table, new Date().toISOString().slice(0, 10));

  it("is what the server reports, at the price of the model", async () => {
    const book = newBook();
    await own(book)(recording, 60_000);
    const { sums, rows } = await today(book);
    // Three seconds at $0.006 a minute.
    expect(sums).toEqual({ all: 300 });
    expect([...rows]).toEqual([["turn|main|||openai-compatible/whisper-1", [1, 30, 0, 0, 0, 300, 0, 0, 0]]]);
  });

  it("is an estimate for an unknown model, and 0 only for a configured price", async () => {
    const unknown = newBook();
    await own(unknown, "tiny")(recording, 60_000);
    expect([...(await today(unknown)).rows.values()][0]?.slice(5, 7)).toEqual([150, 1]);
    const free = newBook({ prices: { "openai-compatible/tiny": { input: 0, output: 0 } } });
    await own(free, "tiny")(recording, 60_000);
    expect((await today(free)).sums.all ?? 0).toBe(0);
  });

  it("is nothing when the server refuses it", async () => {
    const book = newBook();
    server.fail("transcriptions", { status: 400 });
    await own(book)(recording, 60_000);
    expect((await today(book)).sums.all).toBe(0);
  });

  it("never passes a limit: then nothing is sent, and the reason says how to raise it", async () => {
    const book = newBook({ rules: [...rules] });
    const long = { ...recording, body: Buffer.alloc(2000 * 120) };
    expect(await own(book)(long, 60_000)).toEqual({
      status: "failed",
      passing: false,
      reason: expect.stringMatching(/^budget: .*gsv budget raise day/),
    });
    expect(server.calls).toEqual([]);
    expect((await today(book)).sums.all ?? 0).toBe(0);
  });
});

describe("a voice note", () => {
  it("is transcribed by the configured server", async () => {
    expect(await own()(recording, 60_000)).toEqual({ status: "transcribed", text: "Buy milk." });
    expect(server.recordings).toEqual([
      { name: "voice.ogg", type: "audio/ogg", model: "whisper-1", bytes: 4 },
    ]);
  });

  it("is not transcribed without a configured server, or if transcription is switched off", async () => {
    expect(await transcriber({})(recording, 60_000)).toEqual({ status: "off" });
    expect(await transcriber({}, {}, { anthropic: "***" })(recording, 60_000)).toEqual({ status: "off" });
    const off = transcriber({ enabled: false, baseUrl: server.url });
    expect(await off(recording, 60_000)).toEqual({ status: "off" });
    expect(server.calls).toEqual([]);
  });

  it("never sends OpenAI's key to another server", async () => {
    const secrets = { "apiKeys.openai": "sk-openai" };
    const keyless = transcriber({ baseUrl: `${server.url}/v1` }, secrets, { openai: "***" });
    expect(await keyless(recording, 60_000)).toMatchObject({ status: "failed" });
    expect(server.calls.length).toBeGreaterThan(0);
    for (const { headers } of server.calls) expect(headers).not.toHaveProperty("authorization");
  });

  it("is sent again after a temporary failure of the server", async () => {
    server.fail("transcriptions", { drop: true });
    expect(await own()(recording, 60_000)).toMatchObject({ status: "transcribed" });
    server.fail("transcriptions", { status: 503 }, { status: 503 });
    expect(await own()(recording, 60_000)).toMatchObject({
      status: "failed",
      reason: "503 without a reason",
    });
  });

  it("respects its time limit over all attempts", async () => {
    let open = () => {};
    const slow = await startTranscriptionServer(
      "late",
      () => new Promise<void>((resolve) => (open = resolve)),
    );
    const transcribe = transcriber(
      { baseUrl: `${slow.url}/v1`, apiKey: "***" },
      { "transcription.apiKey": slow.apiKey },
    );
    expect(await transcribe(recording, 50)).toMatchObject({
      status: "failed",
      reason: "no answer within 0.05 s",
    });
    // On a busy machine the time has passed before the first request arrives.
    expect(slow.calls.length, "no second try").toBeLessThanOrEqual(1);
    open();
    await slow.close();
  });

  it("that the server refuses fails with a reason that contains no key", async () => {
    const message = `Incorrect API key provided: ${server.apiKey}`;
    server.fail("transcriptions", { status: 401, body: { error: { message } } });
    const reason = "401 Incorrect API key provided: ***";
    expect(await own()(recording, 60_000)).toEqual({ status: "failed", reason, passing: false });
    expect(server.calls).toHaveLength(1);
  });
});
