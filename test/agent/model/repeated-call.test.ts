import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { holdSession } from "../../../functions/agent/session-loop.ts";
import { bindPeer, openConnection } from "../../../shared/peers/registry.ts";
import { createToken } from "../../../shared/peers/tokens.ts";
import type { ChatEvent } from "../../../shared/protocol/events.ts";
import { textOf } from "../../../shared/protocol/messages.ts";
import { requestStop } from "../../../shared/session/stop.ts";
import { startOpenAiServer } from "../../support/models/openai-server.ts";
import type { ModelServer, Reply } from "../../support/models/scripted-model.ts";
import { type State, startState } from "../../support/state.ts";
import { type Bench, openBench } from "../bench.ts";

let state: State;
let model: ModelServer;
let bench: Bench;
let replies: Reply[] = [];
let waits: number[] = [];
let sessionKey: string;
let sessions = 0;

beforeAll(async () => {
  state = await startState();
  model = await startOpenAiServer(() => replies.shift() ?? { text: "the answer" });
  bench = openBench(state, { provider: "openai-compatible", id: "m", baseUrl: model.url });
  const record = { connectionId: "c1", openedAt: Date.now(), failures: 0 };
  const { id: tokenId } = await createToken(state.table, { name: "client", scopes: ["client"] }, 1);
  const peer = { id: "client", tokenId, mode: "client", version: "0", platform: "test" } as const;
  await openConnection(state.table, record);
  await bindPeer(state.table, record, { ...peer, connectionId: "c1", connectedAt: Date.now() });
});
beforeEach(() => {
  sessionKey = `agent:main:repeat${++sessions}`;
  replies = [];
  waits = [];
  model.requests.length = 0;
  bench.posted.length = 0;
  bench.wait = async (ms) => void waits.push(ms);
});
afterAll(async () => {
  await state?.close();
  await model?.close();
});

const busy = (headers: Record<string, string> = {}, status = 429): Reply => ({
  error: { status, message: "Rate limit reached", headers },
});
const events = () => bench.posted.map(({ frame }) => (frame as { payload: ChatEvent }).payload);
const retries = () => events().flatMap((event) => (event.state === "retry" ? [event] : []));
const failure = () =>
  events()
    .flatMap((event) => (event.state === "error" ? [event.error] : []))
    .at(-1);

async function say(id = "run"): Promise<string | undefined> {
  const origin = { kind: "client" } as const;
  await bench.submit(sessionKey, { id, at: Date.now(), origin, kind: "message", text: "hello" });
  await bench.invoke(sessionKey);
  const last = (await bench.live(sessionKey)).at(-1);
  return last?.role === "assistant" && last.errorMessage === undefined ? textOf(last) : undefined;
}

describe("a model call that fails temporarily is repeated", () => {
  it.each<[string, Reply, RegExp]>([
    [
      "overloaded in mid-stream",
      { text: "Once upon a time", streamError: { afterPieces: 2, message: "overloaded" } },
      /^the model's server is overloaded$/,
    ],
    [
      "cut in mid-stream",
      { text: "Once upon a time", cutAfterChunks: 2 },
      /^the provider's answer was cut off midway$/,
    ],
    ["busy", busy(), /^rate limited by the model's server$/],
    ["down", { error: { status: 503, message: "unavailable" } }, /^LLM error: ./],
  ])("%s: clients see the reason and the wait, and then the answer", async (_what, reply, reason) => {
    replies = [reply];
    expect(await say()).toBe("the answer");
    expect(model.requests).toHaveLength(2);
    expect(retries()).toEqual([
      expect.objectContaining({
        runId: "run",
        step: 0,
        waitMs: waits[0],
        reason: expect.stringMatching(reason),
      }),
    ]);
    const after = events().slice(events().findIndex((event) => event.state === "retry") + 1);
    expect(after[0]).toMatchObject({ state: "delta", seq: 0 });
    expect(after.at(-1)).toMatchObject({ state: "final" });
  });

  it.each<[Reply, number]>([
    [busy({ "retry-after": "42" }), 42_000],
    [busy({ "retry-after-ms": "1500" }), 1500],
    [{ error: { status: 429, message: "Please try again in 7.5s." } }, 7500],
  ])("after the wait that the provider asks for: %j", async (reply, ms) => {
    replies = [reply];
    expect(await say()).toBe("the answer");
    expect(waits).toEqual([ms]);
  });

  it("twice, with a longer wait each time, and then the run fails", async () => {
    replies = [busy(), busy(), busy()];
    expect(await say()).toBeUndefined();
    expect(model.requests).toHaveLength(3);
    expect(waits[1]).toBeGreaterThan(waits[0]!);
    expect(failure()).toMatch(/Rate limit reached/);
    expect(await say("next")).toBe("the answer");
  });
});

describe("a model call is not repeated", () => {
  it.each<[string, Reply]>([
    ["for a fault of the request", { error: { status: 400, message: "status 500 is not a number" } }],
    ["for an account without money", { error: { status: 429, message: "insufficient_quota: see billing" } }],
    ["where the provider says so", busy({ "x-should-retry": "false" }, 500)],
  ])("%s", async (_what, reply) => {
    replies = [reply];
    expect(await say()).toBeUndefined();
    expect(model.requests).toHaveLength(1);
    expect(retries()).toEqual([]);
  });

  it.each([
    ["a minute", "61", 300_000],
    ["is left of the call's time", "30", 25_000],
  ])("if the wait would exceed %s: the error says how long", async (_what, seconds, llmMs) => {
    bench.configuration.timeouts = { ...bench.configuration.timeouts, llmMs };
    replies = [busy({ "retry-after": seconds })];
    expect(await say()).toBeUndefined();
    expect(waits).toEqual([]);
    expect(failure()).toContain(`asks to wait ${seconds} s`);
    bench.configuration.timeouts = { ...bench.configuration.timeouts, llmMs: 300_000 };
  });
});

it("a stop ends the wait, and the lease is renewed meanwhile", async () => {
  replies = [busy({ "retry-after": "50" })];
  const leases: number[] = [];
  bench.wait = async (_ms, signal) => {
    leases.push((await bench.state(sessionKey)).leaseUntil ?? 0);
    await requestStop(state.table, sessionKey, "stop", Date.now());
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    leases.push((await bench.state(sessionKey)).leaseUntil ?? 0);
  };
  await bench.submit(sessionKey, {
    id: "run",
    at: Date.now(),
    origin: { kind: "client" },
    kind: "message",
    text: "hello",
  });
  await holdSession(bench.agent(), sessionKey, () => 900_000);
  expect(leases[1]).toBeGreaterThan(leases[0]!);
  expect(failure()).toBe("Run cancelled by user");
  expect(model.requests).toHaveLength(1);
  expect((await bench.state(sessionKey)).run).toBeUndefined();
});
