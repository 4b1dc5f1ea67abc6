import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { defaults } from "../../shared/configuration/defaults.ts";
import type { ChatReply } from "../../shared/protocol/events.ts";
import type { EventFrame } from "../../shared/protocol/frames.ts";
import type { AssistantMessage } from "../../shared/protocol/messages.ts";
import type { ContextResult, CostResult } from "../../shared/protocol/session-results.ts";
import { runCommand } from "../../shared/session/commands/commands.ts";
import type { InboxEntry } from "../../shared/session/inbox-entry.ts";
import { readDay } from "../../shared/spend/day-view.ts";
import { type Bench, openBench } from "../agent/bench.ts";
import { startAnthropicServer } from "../support/models/anthropic-server.ts";
import type { ModelServer, Reply } from "../support/models/scripted-model.ts";
import { clientParams } from "../support/peer.ts";
import { openSocketWorld, type SocketFunction, type SocketWorld } from "../support/socket-function.ts";
import { type State, startState } from "../support/state.ts";

const dayMs = 24 * 3600_000;
/** A model whose price pi-ai knows: 3 dollars for a million input tokens, 15 output, 0.30 read from the cache, 3.75 written to it. */
const priced = { provider: "anthropic", id: "claude-sonnet-4-5" };
let state: State;
let world: SocketWorld;
let gateway: SocketFunction;
let bench: Bench;
let model: ModelServer;
let replies: Reply[] = [];
let sessionKey: string;
let sessions = 0;

beforeAll(async () => {
  model = await startAnthropicServer(() => replies.shift() ?? { text: "done", usage });
});
beforeEach(async () => {
  state = await startState();
  world = openSocketWorld(state);
  gateway = world.start();
  bench = openBench(state, { ...priced, baseUrl: model.url, contextWindow: 200_000 });
  // Noon: no test crosses midnight by accident.
  bench.later = (Math.floor(Date.now() / dayMs) + 1.5) * dayMs - Date.now();
  world.clock.later = bench.later;
  sessionKey = `agent:main:spending-${++sessions}`;
  replies = [];
  await gateway.open("c", (await world.token(["client"])).token);
  await gateway.request("c", "connect", clientParams("ann"));
});
afterAll(() => model?.close());

/** The date so many ms from now. */
const dateAt = (later: number) => new Date(Date.now() + later).toISOString().slice(0, 10);

const usage = { input: 1000, output: 100, cacheRead: 10_000, cacheWrite: 2000 };
/** The spending of one call with this usage. */
const one = { calls: 1, ...usage, dollars: expect.closeTo(0.003 + 0.0015 + 0.003 + 0.0075), unpriced: 0 };
const nothing = {
  ...{ calls: 0, input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  dollars: 0,
  unpriced: 0,
};
const twice = {
  ...{ calls: 2, input: 2000, output: 200, cacheRead: 20_000, cacheWrite: 4000 },
  ...{ dollars: expect.closeTo(0.03), unpriced: 0 },
};
const reading = { toolCalls: [{ name: "gsv__ReadFile", arguments: { path: "SOUL.md" } }], usage };

let entries = 0;
async function work(key: string, entry: object): Promise<string> {
  const id = `entry-${++entries}`;
  const at = Date.now() + bench.later;
  await bench.submit(key, { id, at, origin: { kind: "client" }, ...entry } as InboxEntry);
  await bench.invoke(key);
  world.clock.later = bench.later;
  return id;
}
const say = (key = sessionKey) => work(key, { kind: "message", text: "go" });
async function ask<Result>(method: "session.cost" | "session.context", key = sessionKey): Promise<Result> {
  const answer = await gateway.request("c", method, { sessionKey: key });
  return (answer as unknown as { payload: Result }).payload;
}
const cost = (key?: string) => ask<CostResult>("session.cost", key);
const command = (text: "cost" | "context" | "budget", role?: "guest" | "owner") =>
  runCommand(
    {
      ...{ table: state.table, wake: async () => {}, now: world.now },
      configuration: { load: async () => bench.configuration },
    },
    sessionKey,
    "c",
    { name: text, argument: "" },
    role ? { role, senderId: "1" } : {},
  );

describe("the spending of a turn", () => {
  it("is the sum of its model calls, in tokens and in dollars", async () => {
    replies = [reading];
    const runId = await say();
    const { turn, session, today } = await cost();
    expect(turn).toEqual({ ...twice, runId });
    expect(session).toEqual(twice);
    const all = { ...twice, savedDollars: expect.closeTo(0.051) };
    expect(today).toEqual({ date: expect.stringMatching(/^\d{4}-\d\d-\d\d$/), session: twice, all });
  });

  it("is stored with each reply, and sent to clients with the answer", async () => {
    await say();
    const reply = (await bench.live(sessionKey)).at(-1) as AssistantMessage;
    expect(reply.usage).toMatchObject({
      ...usage,
      cost: { output: expect.closeTo(0.0015), total: expect.closeTo(0.015) },
    });
    const events = bench.posted
      .map(({ frame }) => frame as EventFrame)
      .filter(({ event }) => event === "chat");
    const final = events.map(({ payload }) => payload as ChatReply).find(({ state }) => state === "final");
    expect(final?.turn).toEqual({ ...one, contextTokens: 13_000, contextWindow: 200_000 });
  });

  it("has an unknown price for a model without a price list entry", async () => {
    bench.configuration.model = { provider: "anthropic", id: "of-my-own", baseUrl: model.url };
    await say();
    expect((await cost()).session).toEqual({ ...one, dollars: 0, unpriced: 1 });
    expect(await command("cost")).toEqual({
      response: expect.stringContaining(
        "Last turn: 1 call, 13,000 in (10,000 from the cache), 100 out, price unknown",
      ),
    });
  });
});

describe("the spending of a session", () => {
  it("starts again at a reset, while the day's continues until midnight", async () => {
    await say();
    await work(sessionKey, { kind: "reset", via: "method" });
    const after = await cost();
    expect(after).toMatchObject({ session: nothing, today: { session: { calls: 1 } } });
    expect(after).not.toHaveProperty("turn");
    await say();
    // The reset has extracted memories, in a call of the same usage that belongs to no conversation.
    expect(await cost()).toMatchObject({ session: one, today: { session: twice, all: { calls: 3 } } });
    bench.later += dayMs;
    await say();
    expect(await cost()).toMatchObject({ turn: one, session: twice, today: { session: one, all: one } });
  });

  it("includes the calls of a compaction, which belong to no turn", async () => {
    for (let turns = 0; turns < 3; turns++) await say();
    replies = [{ text: "<summary>what was said</summary>", usage }];
    await work(sessionKey, { kind: "compact", keep: 1, via: "method" });
    const { turn, session, today } = await cost();
    expect(turn).toMatchObject({ calls: 1 });
    expect(session).toMatchObject({ calls: 4, output: 400, dollars: expect.closeTo(0.06) });
    expect(today.session).toEqual(session);
    // Nothing is left of the reservation.
    expect((await readDay(state.table, dateAt(bench.later))).sums.all).toBe(60_000);
  });
});

describe("today's spending of all sessions", () => {
  it("is their sum, for a client", async () => {
    const other = `${sessionKey}-other`;
    await say(other);
    await say();
    expect((await cost()).today).toMatchObject({ session: one, all: twice });
    expect(await command("cost")).toEqual({
      response: expect.stringMatching(
        /\nToday, all sessions: 2 calls.*; the cache saved \$0\.0510\nThis month, all sessions: /,
      ),
    });
  });

  it("is not shown on a channel, where guests do not see any costs", async () => {
    await say();
    const { response } = (await command("cost", "owner")) as { response: string };
    expect(response).toContain("This conversation: 1 call");
    expect(response).not.toContain("all sessions");
    for (const name of ["cost", "context", "budget"] as const)
      expect(await command(name, "guest")).toEqual({
        error: `Only the owner of this agent may use /${name}.`,
      });
  });
});

describe("/budget", () => {
  it("shows an owner today, the month and each limit, but in a room neither that nor /cost", async () => {
    bench.configuration.budgets = defaults.budgets;
    await say();
    for (const role of [undefined, "owner"] as const)
      expect(await command("budget", role)).toEqual({
        response: expect.stringMatching(
          /^Today \(.*\): \$0\.0150, 1 call; the cache saved .*\nThis month .*\nrun: at most .*\nday: \$0\.0150 of \$10/,
        ),
      });
    sessionKey = "agent:main:telegram:group:-100";
    for (const name of ["budget", "cost"] as const)
      expect(await command(name, "owner")).toEqual({ error: expect.stringContaining("direct message") });
    expect(await command("cost")).toHaveProperty("response");
  });
});

describe("how full the context window is", () => {
  it("is unknown before the first reply", async () => {
    const found = await ask<ContextResult>("session.context");
    expect(found).toMatchObject({ sessionKey, model: expect.stringContaining("/"), messageCount: 0 });
    expect(found).not.toHaveProperty("last");
    expect(await command("context")).toEqual({
      response: expect.stringContaining("Context: known after the next reply"),
    });
  });

  it("is the provider's count, and the parts of prompt and messages", async () => {
    await say();
    const { last, messageCount } = await ask<ContextResult>("session.context");
    expect(messageCount).toBe(2);
    expect(last).toEqual({
      tokens: 13_000,
      window: 200_000,
      prompt: expect.any(Number),
      compactsAt: 180_000,
    });
    expect(last!.prompt).toBeGreaterThan(12_000);
    expect(last!.prompt).toBeLessThan(13_000);
    expect(await command("context")).toEqual({
      response: expect.stringContaining("Context: 13,000 of 200,000 tokens (7%)"),
    });
    await work(sessionKey, { kind: "reset", via: "method" });
    expect(await ask<ContextResult>("session.context")).not.toHaveProperty("last");
  });
});
