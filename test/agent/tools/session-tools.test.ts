import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { holdSession } from "../../../functions/agent/session-loop.ts";
import { expireTools } from "../../../functions/timer/timer.ts";
import { type Message, textOf } from "../../../shared/protocol/messages.ts";
import type { InboxEntry } from "../../../shared/session/inbox-entry.ts";
import { rootOf } from "../../../shared/session/run.ts";
import { readSession } from "../../../shared/session/sessions.ts";
import { isLeased, metaKey, needsAgent } from "../../../shared/session/state.ts";
import { requestStop } from "../../../shared/session/stop.ts";
import { set } from "../../../shared/world/expression.ts";
import { startOpenAiServer } from "../../support/models/openai-server.ts";
import type { ModelRequest, ModelServer, Reply } from "../../support/models/scripted-model.ts";
import { type MemoryState, startState } from "../../support/state.ts";
import { type Bench, copiesBefore, immortal, openBench } from "../bench.ts";

let state: MemoryState;
let model: ModelServer;
let bench: Bench;
let answer: (request: ModelRequest, text: string) => Reply;
/** The session keys of a test. */
let asker: string;
let asked: string;
let named = 0;
let messages = 0;

beforeAll(async () => {
  state = await startState();
  model = await startOpenAiServer((request) => answer(request, request.turns.at(-1)?.text ?? ""));
  bench = benchOver(state);
});
beforeEach(() => {
  [asker, asked] = [`agent:main:asker-${++named}`, `agent:main:asked-${named}`];
  woken = [];
  answer = (request, text) => {
    if (request.turns.at(-1)?.role === "tool") return { text: "done" };
    if (text.startsWith("[session · ")) return { text: `answer to ${text.split("\n")[1]}` };
    if (text.startsWith("call ")) return call(JSON.parse(text.slice("call ".length)));
    return { text: "heard" };
  };
});
afterAll(async () => {
  await model.close();
  await state.close();
});

const benchOver = (over: MemoryState) =>
  openBench(over, { provider: "openai-compatible", id: "m", baseUrl: model.url });

const call = ({ name = "gsv__SessionSend", ...args }: Record<string, unknown>): Reply => ({
  toolCalls: [{ name: String(name), arguments: JSON.stringify(args) }],
});

/** A message of the owner's client, or of somebody in a room. */
function entry(text: string, more: Partial<InboxEntry> = {}): InboxEntry {
  const id = `m${++messages}`;
  return {
    id,
    at: Date.now() + bench.later,
    kind: "message",
    text,
    origin: { kind: "client" },
    ...more,
  } as InboxEntry;
}

const ask = (args: object, sessionKey = asker) =>
  bench.submit(
    sessionKey,
    entry(`call ${JSON.stringify({ sessionKey: asked, message: "how are you?", ...args })}`),
  );
/** Sessions that the agent was woken for. */
let woken: string[] = [];
const run = (sessionKey: string) => {
  const agent = { ...bench.agent(), wake: async (key: string) => void woken.push(key) };
  return holdSession(agent, sessionKey, () => 900_000);
};
const results = async (sessionKey = asker) =>
  (await bench.live(sessionKey)).filter((message) => message.role === "toolResult").map(resultOf);
const resultOf = (message: Message): unknown => {
  const text = textOf(message);
  return text.startsWith("{") ? JSON.parse(text) : text;
};
const refusal = (reason: string) => [expect.stringContaining(reason)];
const expire = async (sessionKey = asker) => {
  const { run: waiting } = await bench.state(sessionKey);
  const { runId = "", step = 0, deadline = 0 } = waiting ?? {};
  bench.later += Math.max(0, deadline - Date.now() - bench.later);
  const { table, wake, schedules, sockets, configuration, now } = bench.agent();
  const files = { read: async () => undefined };
  const sweepMemories = async () => {};
  const timer = { table, files, wake, schedules, sockets, configuration, sweepMemories, now };
  await expireTools(timer, { kind: "tool-timeout", sessionKey, runId, step, deadline });
};

describe("a message to another session", () => {
  it("is answered by the run of this very message, and nothing runs during the wait", async () => {
    await bench.submit(asked, entry("an older message"));
    await ask({});
    await run(asker);
    const waiting = await bench.state(asker);
    expect([waiting.run?.phase, isLeased(waiting, Date.now())]).toEqual(["tools", false]);
    await run(asked);
    expect(woken).toEqual([asked, asker]);
    await run(asker);
    const runId = expect.stringMatching(/^session:[0-9a-f]{32}$/);
    const result = { status: "ok", runId, sessionKey: asked, queued: true, reply: "answer to how are you?" };
    expect(await results()).toEqual([{ ok: true, result }]);
    expect((await bench.live(asker)).at(-1)).toMatchObject({ content: [{ text: "done" }] });
  });

  it("says which session sent it", async () => {
    await ask({ waitSeconds: 0 });
    await run(asker);
    expect((await bench.state(asked)).inbox).toMatchObject([
      { text: `[session · ${asker}]\nhow are you?`, origin: { kind: "client" } },
    ]);
  });

  it("with waitSeconds 0 is accepted without a wait", async () => {
    await ask({ waitSeconds: 0 });
    await run(asker);
    const [entryOf] = (await bench.state(asked)).inbox;
    const result = { status: "accepted", runId: entryOf?.id, sessionKey: asked, queued: false };
    expect(await results()).toEqual([{ ok: true, result }]);
    await run(asked);
    expect(await results()).toHaveLength(1);
  });

  it("times out after waitSeconds, and a later answer changes nothing", async () => {
    await ask({ waitSeconds: 2 });
    await run(asker);
    const { run: waiting } = await bench.state(asker);
    expect((waiting?.deadline ?? 0) - (waiting?.startedAt ?? 0)).toBeLessThan(10_000);
    await expire();
    await run(asked);
    await run(asker);
    const runId = expect.any(String);
    const result = { status: "timeout", runId, sessionKey: asked, queued: false, waitedSeconds: 2 };
    expect(await results()).toEqual([{ ok: true, result }]);
  });

  it("whose run fails is an error that says why", async () => {
    answer = (_request, text) =>
      text.startsWith("call ") ? call({ sessionKey: asked, message: "x" }) : { text: "" };
    await ask({});
    await run(asker);
    await run(asked);
    answer = () => ({ text: "done" });
    await run(asker);
    expect(await results()).toEqual([
      { ok: false, error: `${asked} has not answered: LLM returned empty response` },
    ]);
  });

  it("is still answered when its sender is stopped", async () => {
    await ask({});
    await run(asker);
    await requestStop(state.table, asker, "stop", Date.now() + bench.later);
    await run(asker);
    expect(await results()).toEqual([expect.stringContaining("the other conversation continues")]);
    await run(asked);
    expect(textOf((await bench.live(asked)).at(-1) as Message)).toBe("answer to how are you?");
  });
});

describe("a message is refused", () => {
  it("to the conversation itself", async () => {
    await ask({ sessionKey: asker });
    await run(asker);
    expect(await results()).toEqual(refusal("the conversation you are in"));
  });

  it("to a room that has never spoken", async () => {
    await ask({ sessionKey: "agent:main:telegram:group:-1" });
    await run(asker);
    expect(await results()).toEqual(refusal("there is no conversation"));
  });

  it("back to a session that forwarded it", async () => {
    answer = (_request, text) => {
      if (text.startsWith("[session · ")) return call({ sessionKey: asker, message: "no, you" });
      return text.startsWith("call ") ? call({ sessionKey: asked, message: "x" }) : { text: "done" };
    };
    await ask({});
    await run(asker);
    await run(asked);
    expect(await results(asked)).toEqual(refusal("has asked this conversation"));
    await run(asker);
    expect(await results()).toMatchObject([{ ok: true, result: { status: "ok", reply: "done" } }]);
  });

  it("to a session that already waits for this one, through another one", async () => {
    const other = `${asked}-other`;
    await ask({ sessionKey: asked }, asker);
    await run(asker);
    await ask({ sessionKey: asker }, other);
    await run(other);
    expect((await bench.state(other)).run?.phase).toBe("tools");
    // The owner's message arrives before that of the waiting session.
    const inbox = [entry(`call ${JSON.stringify({ sessionKey: other, message: "x" })}`)];
    await state.table.update(metaKey(asked), [set("inbox", inbox as never)]);
    await run(asked);
    expect(await results(asked)).toEqual(refusal(`${other} already waits for this conversation`));
  });
});

describe("in conversations that others write or read", () => {
  const room = {
    kind: "channel",
    channel: "telegram",
    accountId: "default",
    peer: { kind: "group", id: "-9" },
  };
  it.each<[string, string, Partial<InboxEntry>]>([
    ["a group, to its owner", "agent:main:telegram:group:-9", { origin: room as never }],
    ["a group, to a guest", "agent:main:telegram:group:-9", { origin: room as never, role: "guest" }],
    ["a guest's conversation", "agent:main:telegram:guest:7", { role: "guest" }],
    ["a main session that a guest writes to", "agent:main:main", { role: "guest" }],
    ["a direct message of its own", "agent:main:telegram:dm:7", {}],
    ["a scheduled job's session", "agent:main:cron:j1", {}],
  ])("neither tool is offered, nor runs when it is called: %s", async (_where, key, more) => {
    bench.configuration.session.dmScope = "per-channel-peer";
    for (const name of ["gsv__SessionsList", "gsv__SessionSend"]) {
      const sessionKey = key === "agent:main:main" ? key : `${key}${named}`;
      const text = `call ${JSON.stringify({ name, sessionKey: asked, message: "x" })}`;
      await bench.submit(sessionKey, entry(text, more));
      await run(sessionKey);
      expect((await results(sessionKey)).at(-1)).toBe(`Error: Tool not found: ${name}`);
      for (const { tools } of model.requests.slice(-2)) expect(tools).not.toContain(name);
    }
    expect(await readSession(state.table, asked)).toBeUndefined();
    bench.configuration.session.dmScope = "main";
  });
});

describe("a guest's conversation that is asked", () => {
  it("answers with a guest's rights, because the guest can ask for what it reads", async () => {
    const guest = `agent:main:telegram:guest:${named}`;
    await bench.submit(guest, entry("hello", { role: "guest" }));
    await run(guest);
    await ask({ sessionKey: guest });
    await run(asker);
    expect((await bench.state(guest)).inbox).toMatchObject([{ role: "guest" }]);
    await run(guest);
    await run(asker);
    const request = model.requests.findLast(({ turns }) => turns.at(-1)?.text.startsWith("[session · "));
    expect(request?.tools).toEqual(["gsv__ReadFile", "gsv__WebFetch"]);
    expect(await results()).toMatchObject([{ ok: true, result: { reply: "answer to how are you?" } }]);
  });
});

describe("the list of sessions", () => {
  it("starts with the latest, with the newest messages on demand", async () => {
    await bench.submit(asked, entry("first"));
    await run(asked);
    bench.later += 1000;
    await bench.submit(
      asker,
      entry(`call ${JSON.stringify({ name: "gsv__SessionsList", limit: 2, messageLimit: 2 })}`),
    );
    await run(asker);
    const times = { createdAt: expect.any(Number), lastActiveAt: expect.any(Number) };
    const [{ result }] = (await results()) as [{ result: { sessions: { sessionKey: string }[] } }];
    expect(result).toMatchObject({ count: 2, offset: 0, limit: 2 });
    expect(result.sessions[1]).toEqual({
      ...{ sessionKey: asked, ...times, messageCount: 2 },
      messages: [
        { role: "user", content: "first", timestamp: expect.any(Number) },
        { role: "assistant", content: "heard", timestamp: expect.any(Number) },
      ],
    });
    expect(result.sessions[0]?.sessionKey).toBe(asker);
  });

  it("has no messages by default", async () => {
    await bench.submit(asker, entry(`call ${JSON.stringify({ name: "gsv__SessionsList" })}`));
    await run(asker);
    const [listed] = (await results()) as { result: { sessions: object[]; limit: number } }[];
    expect(listed?.result.limit).toBe(20);
    for (const session of listed?.result.sessions ?? []) expect(session).not.toHaveProperty("messages");
  });
});

describe("an agent that is killed between any two of its calls", () => {
  /** Invokes the agent while there is something to do, and again after a kill: Lambda repeats a failed invocation. */
  async function finish(sessionKey: string, { life = immortal(), wasKilled = false } = {}): Promise<void> {
    for (let n = 0; n < 6; n++) {
      const current = await readSession(state.table, sessionKey);
      bench.later += 31_000;
      const isRepeat = wasKilled && n === 0;
      if (!isRepeat && !(current && needsAgent(current, Date.now() + bench.later))) return;
      await holdSession(bench.agent(n === 0 ? life : immortal()), sessionKey, () => 900_000);
    }
  }

  let whole: { state: MemoryState; bench: Bench };
  beforeEach(() => {
    whole = { state, bench };
  });
  afterEach(() => {
    ({ state, bench } = whole);
  });

  it.each([
    ["asker", 0],
    ["asked", 1],
    ["asker again", 2],
  ])("is answered once, and sent once: %s", async (_dying, nth) => {
    const lives = [asker, asked, asker];
    await ask({ waitSeconds: 120 });
    for (const key of lives.slice(0, nth)) await finish(key);
    const { later } = bench;
    const { copies, before } = copiesBefore(() => state.copy());
    const check = async (where: string) => {
      expect(await results(), where).toMatchObject([
        { ok: true, result: { status: "ok", reply: "answer to how are you?" } },
      ]);
      expect((await bench.live(asked)).filter(({ role }) => role === "user")).toHaveLength(1);
      expect((await bench.state(asker)).run).toBeUndefined();
      const root = rootOf({ runId: `m${messages}` }, asker);
      expect(await state.table.get({ pk: `SENT#${root}`, sk: "COUNT" })).toMatchObject({ count: 1 });
    };
    for (const [n, key] of lives.entries())
      if (n >= nth) await finish(key, n === nth ? { life: { ...immortal(), before } } : {});
    await check("not killed");
    expect(copies.length).toBeGreaterThan(8);
    for (const [calls, copy] of copies.entries()) {
      state = copy;
      bench = Object.assign(benchOver(state), { later: later + 31_000 });
      for (const [n, key] of lives.entries()) if (n >= nth) await finish(key, { wasKilled: n === nth });
      await check(`killed after ${calls} calls`);
    }
  });
});
