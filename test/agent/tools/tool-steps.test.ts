import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Agent } from "../../../functions/agent/agent.ts";
import { holdSession } from "../../../functions/agent/session-loop.ts";
import { expireTools, type Timer } from "../../../functions/timer/timer.ts";
import { bindPeer, openConnection } from "../../../shared/peers/registry.ts";
import { createToken } from "../../../shared/peers/tokens.ts";
import { type Message, textOf } from "../../../shared/protocol/messages.ts";
import type { Task } from "../../../shared/session/inbox-entry.ts";
import type { SessionState } from "../../../shared/session/state.ts";
import { requestStop } from "../../../shared/session/stop.ts";
import type { TimerEvent } from "../../../shared/world/world.ts";
import { startOpenAiServer } from "../../support/models/openai-server.ts";
import type { ModelServer, Reply } from "../../support/models/scripted-model.ts";
import { type State, startState } from "../../support/state.ts";
import { type Bench, openBench } from "../bench.ts";

let state: State;
let model: ModelServer;
let bench: Bench;
/** The model's replies, in order. */
let replies: (Reply | (() => Promise<Reply>))[] = [];
/** Whether frames for the node are refused. */
let throttled = false;
let schedules: { name: string; at: number; event: TimerEvent }[] = [];
let sessionKey: string;
let sessions = 0;

beforeAll(async () => {
  state = await startState();
  model = await startOpenAiServer(async () => {
    const next = replies.shift();
    return (typeof next === "function" ? await next() : next) ?? { text: "done" };
  });
  bench = openBench(state, { provider: "openai-compatible", id: "m", baseUrl: model.url });
  const record = { connectionId: "n-1", openedAt: Date.now(), frames: 0 };
  await openConnection(state.table, record);
  await bindPeer(state.table, record, {
    id: "pi",
    mode: "node",
    tokenId: (await createToken(state.table, { name: "pi", scopes: ["node"] }, 1)).id,
    version: "1",
    platform: "test",
    connectionId: "n-1",
    connectedAt: Date.now(),
    tools: [{ name: "probe", description: "", inputSchema: { type: "object" } }],
  });
});
beforeEach(() => {
  sessionKey = `agent:main:t${++sessions}`;
  replies = [];
  schedules = [];
  throttled = false;
  bench.posted.length = 0;
});
afterAll(async () => {
  await state?.close();
  await model?.close();
});

const probe = { name: "pi__probe", arguments: {} };
const write = (path: string) => ({ name: "gsv__WriteFile", arguments: { path, content: "whole" } });
const calls = () => bench.posted.filter(({ connectionId }) => connectionId === "n-1").length;
const files = async () => (await state.bucket.list("agents/main/")).objects.map(({ key }) => key);
const results = (messages: readonly Message[]) =>
  messages.filter(({ role }) => role === "toolResult").map(textOf);
const runOf = async () => (await bench.state(sessionKey)).run;

async function say(text: string, task?: Task): Promise<void> {
  const entry = { id: "run", at: 1, origin: { kind: "client" }, kind: "message", text } as const;
  await bench.submit(sessionKey, { ...entry, ...(task ? { task } : {}) });
}

/** Invokes the agent once; the next invocation starts after its lease has expired. */
async function invoke(): Promise<void> {
  const agent = bench.agent();
  const sockets: Agent["sockets"] = {
    ...agent.sockets,
    async post(...args) {
      if (throttled) throw new Error("throttled");
      return agent.sockets.post(...args);
    },
  };
  const once: Agent["schedules"]["once"] = async (name, at, event) =>
    void schedules.push({ name, at, event });
  try {
    await holdSession({ ...agent, sockets, schedules: { once } }, sessionKey, () => 900_000);
  } finally {
    bench.later += 31_000;
  }
}

describe("a reply that was cut off at its token limit", () => {
  it("runs none of its calls, and the model sees the reason", async () => {
    replies = [{ toolCalls: [write("cut.md"), probe], stopReason: "length" }];
    await say("write");
    await invoke();
    expect(await files()).not.toContain("agents/main/cut.md");
    expect(calls()).toBe(0);
    const messages = await bench.live(sessionKey);
    expect(results(messages)).toEqual([
      expect.stringContaining("not run: your reply was cut off"),
      expect.stringContaining("not run: your reply was cut off"),
    ]);
    expect(textOf(messages.at(-1)!)).toBe("done");
  });
});

describe("a stop that comes while the model answers", () => {
  const stopping = (reply: Reply) => async () => {
    await requestStop(state.table, sessionKey, "stop", Date.now());
    return reply;
  };

  it("runs no call of the answer", async () => {
    replies = [stopping({ toolCalls: [write("stopped.md"), probe] })];
    await say("write");
    await invoke();
    expect(await files()).not.toContain("agents/main/stopped.md");
    expect(calls()).toBe(0);
    expect(schedules).toEqual([]);
    expect(await runOf()).toBeUndefined();
  });

  it("delivers the answer to nobody", async () => {
    replies = [stopping({ text: "too late" })];
    await say("go");
    const told: unknown[] = [];
    const agent = bench.agent();
    const send: Agent["broadcast"]["send"] = async (_, event, payload) => void told.push({ event, payload });
    await holdSession({ ...agent, broadcast: { ...agent.broadcast, send } }, sessionKey, () => 900_000);
    const ends = told.filter((one) => !JSON.stringify(one).includes('"delta"'));
    expect(ends).toEqual([{ event: "chat", payload: expect.objectContaining({ state: "error" }) }]);
    expect(await runOf()).toBeUndefined();
  });

  it("leaves the message, its calls and one marker, wherever the process dies", async () => {
    for (let left = 0, ended = false; !ended; left++) {
      sessionKey = `agent:main:dies-${left}`;
      replies = [stopping({ toolCalls: [probe] })];
      await say("go");
      const life = { left, calls: [] };
      ended = await bench.invoke(sessionKey, life);
      if (!ended) await bench.invoke(sessionKey);
      const [asked, ...rest] = (await bench.live(sessionKey)).map((one) => [one.role, textOf(one)]);
      expect(asked, `killed after ${left} calls`).toEqual(["user", "go"]);
      expect(rest.at(-1), `killed after ${left} calls`).toEqual([
        "assistant",
        "[stopped by the user before an answer]",
      ]);
      expect(rest.length === 1 || rest.length === 3, `killed after ${left} calls`).toBe(true);
    }
  });

  it("is too late once the answer is committed", async () => {
    await say("go");
    const agent = bench.agent();
    const stops: unknown[] = [];
    const send: Agent["broadcast"]["send"] = async (_, __, payload) => {
      if ((payload as { state?: string }).state === "final")
        stops.push(await requestStop(state.table, sessionKey, "stop", Date.now()));
    };
    await holdSession({ ...agent, broadcast: { ...agent.broadcast, send } }, sessionKey, () => 900_000);
    expect(stops).toEqual([undefined]);
    expect((await bench.state(sessionKey)).stop).toBeUndefined();
  });
});

describe("an agent that is woken while a call is pending", () => {
  it("sends it no second time, and neither extends its deadline nor counts the wake", async () => {
    replies = [{ toolCalls: [probe] }];
    await say("probe");
    await invoke();
    const { deadline, attempt } = (await runOf())!;
    for (let wake = 0; wake < 12; wake++) await invoke();
    expect(await runOf()).toMatchObject({ phase: "tools", pendingCount: 1, deadline, attempt });
    expect([calls(), schedules.length]).toEqual([1, 1]);
  });
});

describe("calls whose sending failed", () => {
  /** A run whose node call could not be sent, resumed `ms` later. */
  async function resumedAfter(ms: number, task?: Task): Promise<SessionState> {
    replies = [{ toolCalls: [probe, write(`${sessions}.md`)] }];
    await say("probe", task);
    throttled = true;
    await expect(invoke()).rejects.toThrow("throttled");
    throttled = false;
    bench.later += ms;
    await invoke();
    return bench.state(sessionKey);
  }

  it("leave nothing running after the lease: the gateway's own calls are done", async () => {
    replies = [{ toolCalls: [probe, write("beside.md")] }];
    await say("probe");
    throttled = true;
    await expect(invoke()).rejects.toThrow("throttled");
    expect(await files()).toContain("agents/main/beside.md");
  });

  it("are sent again with a new deadline; the first deadline does not end them", async () => {
    const { run } = await resumedAfter(600_000);
    const [first, second] = schedules;
    expect(run).toMatchObject({ phase: "tools", pendingCount: 1, attempt: 2, deadline: second!.at });
    expect(second!.at - first!.at).toBeGreaterThan(600_000);
    expect(second!.name).not.toBe(first!.name);
    expect(calls()).toBe(1);
    const timer = { table: state.table, wake: async () => {}, now: () => second!.at } as unknown as Timer;
    type Timeout = Extract<TimerEvent, { kind: "tool-timeout" }>;
    await expireTools(timer, first!.event as Timeout);
    expect((await runOf())?.pendingCount).toBe(1);
    await expireTools(timer, second!.event as Timeout);
    expect((await runOf())?.pendingCount).toBe(0);
  });

  it("time out with the time limit of their job, also when they are sent again", async () => {
    const of = { jobId: "j", at: 1, queuedAt: 1, summary: "" };
    const { run } = await resumedAfter(0, { kind: "cron", ...of, timeoutMs: 60_000 });
    expect(run?.attempt).toBe(2);
    expect(schedules.map(({ at }) => at - (run?.startedAt ?? 0))).toEqual([60_000, 60_000]);
  });

  it("end the run with an error and a result for each call when they fail for half an hour", async () => {
    replies = [{ toolCalls: [probe, write("given-up.md")] }];
    await say("probe");
    throttled = true;
    const begun = bench.later;
    let failures = 0;
    do {
      await invoke().catch(() => failures++);
    } while ((await runOf()) && bench.later - begun < 7_200_000);
    expect(failures).toBe(8);
    expect(bench.later - begun).toBeGreaterThan(1_800_000);
    expect(await runOf()).toBeUndefined();
    const messages = await bench.live(sessionKey);
    expect(messages.map(({ role }) => role)).toEqual([
      ...["user", "assistant", "toolResult", "toolResult", "assistant"],
    ]);
    expect(results(messages)).toEqual([
      "Error: interrupted; its machine could not be reached, and may continue",
      expect.stringContaining('"ok":true'),
    ]);
    throttled = false;
    await bench.submit(sessionKey, {
      id: "next",
      at: 2,
      origin: { kind: "client" },
      kind: "message",
      text: "and now?",
    });
    await invoke();
    expect(textOf((await bench.live(sessionKey)).at(-1)!)).toBe("done");
  });

  it("of the gateway need no schedule when they are resumed", async () => {
    replies = [{ toolCalls: [write("alone.md")] }];
    await say("write");
    const agent = bench.agent();
    const put: Agent["table"]["put"] = async (item, condition) => {
      if (String(item.sk).startsWith("R#")) throw new Error("down");
      return agent.table.put(item, condition);
    };
    const dying = holdSession({ ...agent, table: { ...agent.table, put } }, sessionKey, () => 900_000);
    await expect(dying).rejects.toThrow("down");
    await invoke();
    expect(textOf((await bench.live(sessionKey)).at(-1)!)).toBe("done");
    expect(schedules).toEqual([]);
  });
});
