import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { holdSession } from "../../../functions/agent/session-loop.ts";
import { textOf } from "../../../shared/protocol/messages.ts";
import type { InboxEntry } from "../../../shared/session/inbox-entry.ts";
import { readSession } from "../../../shared/session/sessions.ts";
import { startOpenAiServer } from "../../support/models/openai-server.ts";
import type { ModelRequest, ModelServer, Reply } from "../../support/models/scripted-model.ts";
import { type MemoryState, startState } from "../../support/state.ts";
import { type Bench, openBench } from "../bench.ts";

let state: MemoryState;
let model: ModelServer;
let bench: Bench;
let answer: (request: ModelRequest, text: string) => Reply;
/** Sessions that the agent was woken for. */
let woken: string[];
let named = 0;
let asker: string;

beforeAll(async () => {
  state = await startState();
  model = await startOpenAiServer((request) => answer(request, request.turns.at(-1)?.text ?? ""));
  bench = openBench(state, { provider: "openai-compatible", id: "m", baseUrl: model.url });
});
beforeEach(() => {
  asker = `agent:main:asker-${++named}`;
  woken = [];
  answer = () => ({ text: "heard" });
  bench.configuration.session.sendLimit = 50;
});
afterAll(async () => {
  await model.close();
  await state.close();
});

const say = (sessionKey: string, more: Partial<InboxEntry> = {}) => {
  const entry = {
    id: `m${++named}`,
    at: Date.now(),
    kind: "message",
    text: "hello",
    origin: { kind: "client" },
  };
  return bench.submit(sessionKey, { ...entry, ...more } as InboxEntry);
};
const run = (sessionKey: string) =>
  holdSession({ ...bench.agent(), wake: async (key) => void woken.push(key) }, sessionKey, () => 900_000);
/** Works until no session is woken any more. @returns the number of runs that messages of sessions started */
async function settle(): Promise<number> {
  const before = model.requests.length;
  await run(asker);
  for (let key = woken.shift(); key !== undefined; key = woken.shift()) await run(key);
  return model.requests.slice(before).filter(({ turns }) => senderOf(turns.at(-1)?.text ?? "")).length;
}
/** The session that sent a message. */
const senderOf = (text: string) => text.match(/^\[session · (.*)\]/)?.[1];
const results = async (sessionKey: string): Promise<unknown[]> =>
  (await bench.live(sessionKey)).flatMap((message) => {
    const text = textOf(message);
    return message.role === "toolResult" ? [text.startsWith("{") ? JSON.parse(text) : text] : [];
  });
/** Existing sessions. */
async function crowd(count: number): Promise<string[]> {
  const keys = Array.from({ length: count }, (_, n) => `${asker}-${n}`);
  for (const key of keys) {
    await say(key);
    await run(key);
  }
  return keys;
}
const send = (waitSeconds: number, ...keys: string[]): Reply => ({
  toolCalls: keys.map((sessionKey) => ({
    name: "gsv__SessionSend",
    arguments: { sessionKey, message: "x", waitSeconds },
  })),
});
/** The model sends the messages that `to` returns for the sender of a message, and then answers. */
const sending = (waitSeconds: number, to: (from: string) => string[]) => {
  answer = (request, text) => {
    const keys = request.turns.at(-1)?.role === "tool" ? [] : to(senderOf(text) ?? "nobody");
    return keys.length > 0 ? send(waitSeconds, ...keys) : { text: "done" };
  };
};

describe("one message cannot multiply without limit", () => {
  it("it starts at most 50 runs, however many conversations pass it on to each other", async () => {
    const all = await crowd(5);
    sending(0, (from) => all.filter((key) => key !== from));
    await say(asker);
    expect(await settle()).toBe(50);
    const told = (await Promise.all(all.map(results))).flat();
    const error = expect.stringContaining("at most 50 runs");
    expect(told).toContainEqual(expect.objectContaining({ ok: false, error }));
  });

  it("session.sendLimit counts a chain, and the steps of one run; the next message has its own count", async () => {
    bench.configuration.session.sendLimit = 3;
    const chain = await crowd(5);
    sending(0, (from) => [chain[["nobody", asker, ...chain].indexOf(from)]!]);
    await say(asker);
    expect(await settle()).toBe(3);
    expect(await results(chain[2]!)).toMatchObject([{ ok: false, notSentTo: [chain[3]] }]);
    let step = 0;
    answer = () => (step++ < 2 ? send(0, chain[step]!, chain[step + 2]!) : { text: "done" });
    await say(asker);
    await run(asker);
    const sent = (await results(asker)).slice(-4);
    expect(sent).toMatchObject([{ ok: true }, { ok: true }, { ok: true }, { ok: false }]);
  });

  it("a waiting asker reads in the answer which conversations were not asked", async () => {
    bench.configuration.session.sendLimit = 2;
    const chain = await crowd(3);
    sending(30, (from) => [chain[["nobody", asker, ...chain].indexOf(from)]!]);
    await say(asker);
    expect(await settle()).toBe(2);
    const result = { status: "ok", reply: "done", notSentTo: [chain[2]] };
    expect(await results(chain[0]!)).toMatchObject([{ ok: true, result }]);
    expect(await results(asker)).toMatchObject([{ ok: true, result }]);
  });

  it("one of an earlier version, which names no first message, starts a count of its own", async () => {
    const [asked = "", other = ""] = await crowd(2);
    sending(0, () => [other]);
    const task = { kind: "session", sessionKey: asked, runId: "r", queued: false, askers: [asker] } as const;
    await say(asked, { task });
    await run(asked);
    expect(await results(asked)).toMatchObject([{ ok: true }]);
    expect((await bench.state(other)).inbox).toMatchObject([{ task: { askers: [asker, asked] } }]);
  });

  it("an asked session can only ask existing conversations", async () => {
    const [asked = ""] = await crowd(1);
    sending(0, (from) => [from === asker ? "agent:main:new" : asked]);
    await say(asker);
    await settle();
    expect(await results(asked)).toEqual([expect.stringContaining("there is no agent:main:new")]);
    expect(await readSession(state.table, "agent:main:new")).toBeUndefined();
  });
});
