import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Agent } from "../../../functions/agent/agent.ts";
import { holdSession } from "../../../functions/agent/session-loop.ts";
import { expireTools, remindOfRequests, type Timer } from "../../../functions/timer/timer.ts";
import { answerRequest } from "../../../shared/approvals/answer.ts";
import { listGrants, revokeGrant } from "../../../shared/approvals/grants.ts";
import { listOpen, listRequests } from "../../../shared/approvals/requests.ts";
import { bindPeer, openConnection } from "../../../shared/peers/registry.ts";
import { createToken } from "../../../shared/peers/tokens.ts";
import type { AnswerResult, ApprovalAnswer } from "../../../shared/protocol/approvals.ts";
import { type Message, textOf } from "../../../shared/protocol/messages.ts";
import type { InboxEntry } from "../../../shared/session/inbox-entry.ts";
import { needsAgent } from "../../../shared/session/state.ts";
import { requestStop } from "../../../shared/session/stop.ts";
import type { TimerEvent } from "../../../shared/world/world.ts";
import { startOpenAiServer } from "../../support/models/openai-server.ts";
import type { ModelServer, Reply } from "../../support/models/scripted-model.ts";
import { type State, startState } from "../../support/state.ts";
import { type Bench, immortal, Killed, type Life, mortal, openBench } from "../bench.ts";

let state: State;
let model: ModelServer;
let bench: Bench;
let replies: Reply[] = [];
let schedules: { at: number; event: TimerEvent }[] = [];
let woken: string[] = [];
let sessionKey: string;
let sessions = 0;
const day = 24 * 3_600_000;

async function connect(id: string, mode: "node" | "client"): Promise<void> {
  const record = { connectionId: `${id}-1`, openedAt: Date.now(), frames: 0 };
  await openConnection(state.table, record);
  await bindPeer(state.table, record, {
    ...{ id, mode, version: "1", platform: "test", connectionId: `${id}-1`, connectedAt: Date.now() },
    tokenId: (await createToken(state.table, { name: id, scopes: [mode] }, 1)).id,
    ...(mode === "node" ? { tools: [tool("probe"), tool("other")] } : {}),
  });
}
const tool = (name: string) => ({ name, description: "", inputSchema: { type: "object" } });

beforeAll(async () => {
  state = await startState();
  model = await startOpenAiServer(async () => replies.shift() ?? { text: "done" });
  bench = openBench(state, { provider: "openai-compatible", id: "m", baseUrl: model.url });
  await connect("pi", "node");
  await connect("laptop", "client");
});
beforeEach(() => {
  sessionKey = `agent:main:t${++sessions}`;
  [replies, schedules, woken] = [[], [], []];
  bench.posted.length = 0;
  bench.later = 0;
  bench.configuration = { ...bench.configuration, toolApproval: { ...settings, mode: "ask" } };
});
afterAll(async () => {
  await state?.close();
  await model?.close();
});

const settings = {
  ...{ nodes: {}, defaultDecision: "byClass" as const, rules: [], expireAfter: "24h", remindAfter: "1h" },
};
const probe = { name: "pi__probe", arguments: { of: "it" } };
const write = { name: "gsv__WriteFile", arguments: { path: "asked.md", content: "whole" } };
const read = { name: "gsv__ReadFile", arguments: { path: "" } };
/** The calls that the node has received, by their id on the wire. */
const ran = () => new Set(framesFor("pi-1", "tool.invoke").map((payload) => payload.callId)).size;
const events = (name: string) => framesFor("laptop-1", name);
const framesFor = (connection: string, name: string) =>
  bench.posted.flatMap(({ connectionId, frame }) => {
    const { event, payload } = frame as { event?: string; payload: Record<string, unknown> };
    return connectionId === connection && event === name ? [payload] : [];
  });
const results = (messages: readonly Message[]) =>
  messages.filter(({ role }) => role === "toolResult").map(textOf);
const runOf = async () => (await bench.state(sessionKey))?.run;
const openHere = async () =>
  (await listOpen(state.table, now())).filter((one) => one.sessionKey === sessionKey);
const now = () => Date.now() + bench.later;
const wake = async (key: string) => void woken.push(key);

async function say(
  text: string,
  more: Partial<Extract<InboxEntry, { kind: "message" }>> = {},
): Promise<void> {
  const entry = { id: text, at: 1, origin: { kind: "client" }, kind: "message", text, ...more } as const;
  await bench.submit(sessionKey, entry);
}

/** Invokes the agent once. The next invocation starts after its lease has expired. */
async function invoke(life: Life = immortal()): Promise<void> {
  const once: Agent["schedules"]["once"] = async (_, at, event) => void schedules.push({ at, event });
  try {
    await holdSession({ ...bench.agent(life), schedules: { once } }, sessionKey, () => 900_000);
  } catch (error) {
    if (!(error instanceof Killed)) throw error;
  } finally {
    bench.later += 31_000;
  }
}

async function asked(...calls: (typeof probe | typeof write | typeof read)[]): Promise<void> {
  replies = [{ toolCalls: calls }];
  await say(`go ${bench.later}`);
  await invoke();
}

async function answer(
  decision: "allow" | "deny",
  more: Partial<ApprovalAnswer> & { id?: string; life?: Life } = {},
): Promise<AnswerResult> {
  const { life = immortal(), id = (await openHere())[0]?.id ?? "", ...given } = more;
  const table = mortal(state.table, "table", life);
  const full = { decision, scope: "once", by: "client laptop", at: now(), ...given } as const;
  return (await answerRequest({ table, wake }, id, full)).result;
}

function timer(): Timer {
  const once: Timer["schedules"]["once"] = async (_, at, event) => void schedules.push({ at, event });
  const { table, configuration, sockets } = bench.agent();
  const unused = { files: { read: async () => undefined }, sweepMemories: async () => {} };
  return { ...unused, table, sockets, schedules: { once }, configuration, wake, now } as Timer;
}

async function fire(kind: TimerEvent["kind"]): Promise<void> {
  const due = schedules.findLast(({ event }) => event.kind === kind)!;
  bench.later += Math.max(0, due.at - now());
  if (due.event.kind === "tool-timeout") await expireTools(timer(), due.event);
  if (due.event.kind === "approval-reminder") await remindOfRequests(timer(), due.event);
}

describe("a call that needs the owner's answer", () => {
  it("waits without a process, and shows everything to the clients", async () => {
    await asked(probe);
    const [request] = await openHere();
    expect(ran()).toBe(0);
    expect(request).toMatchObject({
      tool: "pi__probe",
      node: "pi",
      args: { of: "it" },
      origins: [],
    });
    expect(events("approval.requested")).toEqual([request]);
    const left = await bench.state(sessionKey);
    expect([left.owner, needsAgent(left, now()), left.run?.pendingCount]).toEqual([undefined, false, 1]);
    expect(schedules.map(({ event, at }) => [event.kind, at - request!.createdAt])).toEqual(
      expect.arrayContaining([
        ["tool-timeout", day],
        ["approval-reminder", 3_600_000],
      ]),
    );
  });

  it("runs once after the answer, whose writer wakes the agent", async () => {
    await asked(probe);
    expect(await answer("allow")).toEqual({ status: "answered" });
    expect(woken).toEqual([sessionKey]);
    await invoke();
    expect([ran(), await openHere()]).toEqual([1, []]);
    expect((await runOf())?.pendingCount).toBe(1);
  });

  it("runs in the gateway after the answer, if the gateway has the tool", async () => {
    await asked(write);
    expect((await state.bucket.list("agents/main/asked")).objects).toEqual([]);
    await answer("allow");
    await invoke();
    expect((await state.bucket.list("agents/main/asked")).objects).toHaveLength(1);
    expect(await runOf()).toBeUndefined();
    await state.bucket.delete("agents/main/asked.md");
  });

  it("does not run after a denial, and the model reads the note", async () => {
    await asked(probe);
    await answer("deny", { note: "not on Sundays" });
    await invoke();
    expect(ran()).toBe(0);
    expect(results(await bench.live(sessionKey))).toEqual([
      expect.stringContaining("denied by your human: not on Sundays"),
    ]);
  });

  it("counts as unanswered after its time, which is no denial", async () => {
    await asked(probe);
    await fire("tool-timeout");
    expect(woken).toEqual([sessionKey]);
    expect((await listRequests(state.table, 1)).map((one) => one.state)).toEqual(["unanswered"]);
    await invoke();
    expect(ran()).toBe(0);
    expect(results(await bench.live(sessionKey))).toEqual([expect.stringContaining("nobody answered")]);
  });

  it("is shown once more after an hour, if nobody has answered", async () => {
    await asked(probe);
    await fire("approval-reminder");
    expect(woken).toEqual([sessionKey]);
    await invoke();
    expect(events("approval.requested").map(({ reminder }) => reminder)).toEqual([undefined, true]);
    expect((await runOf())?.pendingCount).toBe(1);
  });

  it("does not hold up the other calls of its reply", async () => {
    await asked(probe, read);
    expect(Object.values((await runOf())?.pending ?? {})).toHaveLength(1);
    bench.configuration = {
      ...bench.configuration,
      toolApproval: { ...settings, mode: "off", rules: [{ id: "r", tool: "*probe", decision: "ask" }] },
    };
    sessionKey = `agent:main:t${++sessions}`;
    await asked(probe, { name: "pi__other", arguments: { of: "x" } });
    expect(ran()).toBe(1);
    await fire("tool-timeout");
    expect([(await runOf())?.pendingCount, (await openHere()).length]).toEqual([1, 1]);
    await answer("allow");
    await invoke();
    expect(ran()).toBe(2);
  });

  it("shares its request with an equal call", async () => {
    await asked(probe, probe);
    expect(await openHere()).toHaveLength(1);
    await answer("allow");
    await invoke();
    expect(ran()).toBe(2);
  });

  it("is set aside by the owner's next message, which is answered", async () => {
    await asked(probe);
    await say("never mind");
    expect(needsAgent(await bench.state(sessionKey), now())).toBe(true);
    await invoke();
    expect(events("approval.resolved")).toMatchObject([{ state: "withdrawn" }]);
    const live = await bench.live(sessionKey);
    expect(results(live)).toEqual([expect.stringContaining("wrote something else")]);
    expect(live.filter(({ role }) => role === "user")).toHaveLength(2);
    expect([ran(), await runOf()]).toEqual([0, undefined]);
  });

  it("is not set aside by a message of the gateway or of a guest", async () => {
    await asked(probe);
    await say("job", { task: { kind: "heartbeat", agentId: "main" } });
    await say("guest", { role: "guest" });
    expect(needsAgent(await bench.state(sessionKey), now())).toBe(false);
    await invoke();
    expect(await openHere()).toHaveLength(1);
  });

  it("never runs after a stop", async () => {
    await asked(probe);
    const [{ id = "" } = {}] = await openHere();
    await requestStop(state.table, sessionKey, "s", now());
    expect(await answer("allow", { id })).toEqual({ status: "withdrawn" });
    await invoke();
    expect([ran(), await runOf()]).toEqual([0, undefined]);
    expect(await answer("allow", { id })).toMatchObject({ status: "withdrawn" });
  });

  it("is refused without a question after three denials of a run", async () => {
    replies = ["a", "b", "c", "d"].map((of) => ({ toolCalls: [{ name: "pi__probe", arguments: { of } }] }));
    await say("go");
    for (let i = 0; i < 3; i++) {
      await invoke();
      await answer("deny");
    }
    await invoke();
    expect(await openHere()).toEqual([]);
    expect(results(await bench.live(sessionKey)).at(-1)).toContain(
      "not asked: your human has denied several",
    );
  });
});

describe("an answer", () => {
  it("counts only if it is the first", async () => {
    await asked(probe);
    const [{ id = "" } = {}] = await openHere();
    const both = await Promise.all([
      answer("deny", { id, by: "client a" }),
      answer("allow", { id, by: "client b" }),
    ]);
    expect(both.map(({ status }) => status).sort()).toEqual(["already", "answered"]);
    const wins = both[0]?.status === "answered" ? "deny" : "allow";
    await invoke();
    expect(ran()).toBe(wins === "allow" ? 1 : 0);
  });

  it("is void after a rule has forbidden the call", async () => {
    await asked(probe);
    await answer("allow");
    bench.configuration = {
      ...bench.configuration,
      toolApproval: { ...settings, mode: "ask", rules: [{ id: "no", tool: "pi__*", decision: "deny" }] },
    };
    await invoke();
    expect([ran(), events("approval.resolved").map((one) => one.state)]).toEqual([0, ["void"]]);
  });

  it("is void after the node's tool has changed (GHSA-hjvp-qhm6-wrh2: reuse)", async () => {
    await asked(probe);
    await answer("allow");
    const peer = (await state.table.query({ pk: "PEER#node" })).find(({ id }) => id === "pi")!;
    const changed = [{ ...tool("probe"), inputSchema: { type: "object", required: ["x"] } }];
    await state.table.put({ ...peer, tools: changed } as never);
    await invoke();
    await state.table.put(peer as never);
    expect(ran()).toBe(0);
    expect(results(await bench.live(sessionKey))[0]).toContain("has changed since");
  });

  it("of another session counts nothing (OpenClaw 59349)", async () => {
    await asked(probe);
    const [{ id = "" } = {}] = await openHere();
    await say("/x");
    await invoke();
    expect(await answer("allow", { id })).toMatchObject({ status: "withdrawn" });
  });

  it.each(["session", "always"] as const)(
    "for %s also allows equal calls until it is revoked",
    async (scope) => {
      bench.configuration = {
        ...bench.configuration,
        toolApproval: { ...settings, mode: "off", rules: [{ id: "r", tool: "*probe", decision: "ask" }] },
      };
      await asked(probe);
      await answer("allow", { scope });
      await invoke();
      const used = () => listGrants(state.table).then((all) => all.find((one) => one.scope === scope));
      expect(await used()).toMatchObject({ tool: "pi__probe", uses: 0, createdBy: "client laptop" });
      if (scope === "always") sessionKey = `agent:main:t${++sessions}`;
      else await fire("tool-timeout").then(() => invoke());
      bench.posted.length = 0;
      await asked(probe);
      expect([ran(), (await used())?.uses]).toEqual([1, 1]);
      await revokeGrant(state.table, (await used())!.id);
      await fire("tool-timeout").then(() => invoke());
      await asked(probe);
      expect([ran(), (await openHere()).length]).toEqual([1, 1]);
    },
  );
});

describe("a kill at any call", () => {
  it("between question, answer, commit and dispatch loses no request and runs nothing twice", async () => {
    let kills = 0;
    for (const part of ["ask", "answer", "run"] as const) {
      for (let left = 0; ; left++) {
        sessionKey = `agent:main:t${++sessions}`;
        bench.posted.length = 0;
        const lives = { ask: immortal(), answer: immortal(), run: immortal() };
        lives[part].left = left;
        replies = [{ toolCalls: [probe] }, { toolCalls: [probe] }];
        await say("go");
        await invoke(lives.ask);
        if ((await openHere()).length === 0) await invoke();
        expect([ran(), (await openHere()).length]).toEqual([0, 1]);
        await answer("allow", { life: lives.answer }).catch((error) => expect(error).toBeInstanceOf(Killed));
        if ((await openHere()).length > 0) await answer("allow");
        await invoke(lives.run);
        if (needsAgent(await bench.state(sessionKey), now()) || ran() === 0) await invoke();
        expect([part, left, ran(), (await openHere()).length]).toEqual([part, left, 1, 0]);
        const mine = (await listRequests(state.table, 500)).filter((one) => one.sessionKey === sessionKey);
        expect(mine.map((one) => one.state)).toEqual(["allowed"]);
        kills++;
        if (lives[part].left > 0) break;
      }
    }
    expect(kills).toBeGreaterThan(40);
  });
});
