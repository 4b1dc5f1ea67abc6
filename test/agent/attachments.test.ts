import { afterAll, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { receiveAttachments } from "../../functions/agent/attachments.ts";
import { createTranscribe } from "../../functions/agent/model/transcription.ts";
import { holdSession } from "../../functions/agent/session-loop.ts";
import type { SessionWriter } from "../../functions/agent/session-writer.ts";
import { textOf } from "../../shared/protocol/messages.ts";
import type { InboxEntry } from "../../shared/session/inbox-entry.ts";
import { requestStop } from "../../shared/session/stop.ts";
import { startOpenAiServer } from "../support/models/openai-server.ts";
import type { ModelServer } from "../support/models/scripted-model.ts";
import { newBook } from "../support/payment.ts";
import { type State, startState } from "../support/state.ts";
import { until } from "../support/until.ts";
import { Killed, openBench } from "./bench.ts";

let state: State;
let model: ModelServer;
beforeAll(async () => {
  [state, model] = await Promise.all([startState(), startOpenAiServer(() => ({ text: "seen" }))]);
});
beforeEach(() => {
  vi.spyOn(process.stdout, "write").mockImplementation(() => true);
});
afterAll(() => Promise.all([state.close(), model.close()]));

const voice = { type: "audio", mimeType: "audio/ogg", voice: true, source: { fileId: "1" } } as const;

const entry = (id: string) =>
  ({
    id,
    at: 1,
    origin: { kind: "channel", channel: "telegram", accountId: "default", peer: { kind: "dm", id: "1" } },
    kind: "message",
    text: "look",
    attachments: [voice, voice],
  }) satisfies InboxEntry;

it("a file that kills the agent is tried three times, and its message is answered without it", async () => {
  const bench = openBench(state, { provider: "openai-compatible", id: "m", baseUrl: model.url });
  let fetched = 0;
  bench.fetchAttachment = async () => {
    fetched++;
    throw new Killed();
  };
  const key = "agent:main:deadly";
  await bench.submit(key, entry("deadly"));
  for (let invocations = 0; invocations < 3; invocations++) expect(await bench.invoke(key)).toBe(false);
  expect(await bench.invoke(key)).toBe(true);
  expect(fetched).toBe(3);
  const [asked, answer] = await bench.live(key);
  expect(asked && textOf(asked)).toMatch(
    /^look\n[\s\S]*could not be fetched: fetching it was interrupted 3 times/,
  );
  expect(answer && textOf(answer)).toBe("seen");
  // The attachment after it is fetched.
  bench.fetchAttachment = async () => ({ ok: false, reason: "gone" });
  await bench.submit(key, entry("next"));
  await bench.invoke(key);
  expect(textOf((await bench.live(key))[2]!)).toContain("could not be fetched: gone");
});

it.each(["fetched", "transcribed"])(
  "a stop ends the wait while a file is %s, and the message keeps its place",
  async (what) => {
    const bench = openBench(state, { provider: "openai-compatible", id: "m", baseUrl: model.url });
    const key = `agent:main:stopped-while-${what}`;
    let waiting = false;
    const never = () => {
      waiting = true;
      return new Promise<never>(() => {});
    };
    const file = { ok: true, body: Buffer.from("OggS"), mimeType: "audio/ogg" } as const;
    bench.fetchAttachment = what === "fetched" ? never : async () => file;
    await bench.submit(key, entry(what));
    const asked = model.requests.length;
    const held = holdSession({ ...bench.agent(), transcribe: never }, key, () => 900_000);
    await until(() => waiting, "the file is awaited");
    expect(await requestStop(state.table, key, "stop", Date.now())).toMatchObject({ runId: what });
    await held;
    const [message, marker, ...more] = (await bench.live(key)).map(textOf);
    expect(message).toMatch(/^look\n[\s\S]*could not be fetched: the user stopped it/);
    expect([marker, more, model.requests.length]).toEqual([
      "[stopped by the user before an answer]",
      [],
      asked,
    ]);
    const after = await bench.state(key);
    for (const left of ["run", "stop", "owner"]) expect(after).not.toHaveProperty(left);
  },
);

it("fetching and transcribing share one minute", async () => {
  const bench = openBench(state, { provider: "openai-compatible", id: "m" });
  let now = 0;
  const asked: number[] = [];
  const writer = {
    sessionKey: "agent:main:slow",
    state: {},
    interrupted: new AbortController().signal,
    commit: async () => ({}),
  } as unknown as SessionWriter;
  const agent = {
    ...bench.agent(),
    now: () => now,
    fetchAttachment: async () => {
      now += 25_000;
      return { ok: true as const, body: Buffer.from("OggS"), mimeType: "audio/ogg" };
    },
    transcribe: async (_recording: object, timeoutMs: number) => {
      asked.push(timeoutMs);
      return { status: "off" as const };
    },
  };
  await receiveAttachments(agent, writer, entry("slow"));
  expect(asked).toEqual([35_000, 10_000]);
});

it("a voice note is on its sender's account, and a guest reads no figures", async () => {
  const bench = openBench(state, { provider: "openai-compatible", id: "m", baseUrl: model.url });
  const file = { ok: true, body: Buffer.from("OggS"), mimeType: "audio/ogg" } as const;
  bench.fetchAttachment = async () => file;
  const key = "agent:main:telegram:default:guest:8";
  await bench.submit(key, { ...entry("told"), role: "guest", senderId: "8" });
  const book = newBook({ rules: [{ id: "guest", scope: "kind", of: "guest", usd: 0, atLimit: "refuse" }] });
  const load = async () => ({ ...bench.configuration, transcription: { model: "m", baseUrl: model.url } });
  const transcribe = createTranscribe({
    ...{ book, configuration: { load }, secrets: { get: async () => undefined } },
  });
  await holdSession({ ...bench.agent(), transcribe }, key, () => 900_000);
  const [message] = (await bench.live(key)).map(textOf);
  expect(message).toContain("[the transcription failed: not available today]");
});
