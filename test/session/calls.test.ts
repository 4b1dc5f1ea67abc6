import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createMemoryTable } from "../../local/world/local-table.ts";
import { answererOf, stepDeadline } from "../../shared/session/asked-session.ts";
import { type CallAddress, decodeCallAddress, encodeCallAddress } from "../../shared/session/call-address.ts";
import * as calls from "../../shared/session/calls.ts";
import { putOutcome, readOutcomes, recordResult } from "../../shared/session/calls.ts";
import { failed, newRun, nextStep, type Run, senderOf } from "../../shared/session/run.ts";
import { readSession } from "../../shared/session/sessions.ts";
import { metaKey, needsAgent, newSession, type SessionState } from "../../shared/session/state.ts";
import type { Table } from "../../shared/world/world.ts";
import { createMemoryBucket } from "../support/memory-bucket.ts";
import { type State, startState } from "../support/state.ts";

let state: State;
beforeAll(async () => {
  state = await startState();
});
afterAll(() => state.close());

const sessionKey = "agent:main:calls";
const run: Run = {
  runId: "run",
  phase: "tools",
  step: 5,
  attempt: 1,
  startedAt: 1,
  origin: { kind: "client" },
  pending: { call_0: { nodeId: "pi", tool: "pi__probe" } },
  pendingCount: 1,
  results: {},
  resultBytes: 0,
};
const address = (step: number): CallAddress => ({ sessionKey, runId: "run", step, callId: "call_0" });

describe("a call id that a server reuses in every step", () => {
  it.each([
    ["small", "done"],
    ["large", "x".repeat(10_000)],
  ])("does not accept a late answer of an earlier step: %s", async (_, result) => {
    const session = { ...newSession(sessionKey, "id", 1), run };
    await state.table.put({ ...(session as never as object), ...metaKey(sessionKey) });
    const late = await recordResult(state, address(1), "pi", { result: `old ${result}` }, 1);
    expect(late.status).toBe("dropped");
    const own = await recordResult(state, address(5), "pi", { result }, 1);
    expect(own).toMatchObject({ status: "recorded", state: { run: { pendingCount: 0 } } });
    const recorded = own.status === "recorded" ? own.state.run! : run;
    const outcomes = await readOutcomes(state, sessionKey, recorded, [{ id: "call_0" }]);
    expect(outcomes.get("call_0")).toEqual({ result });
  });

  it("is not answered by the stored result of an earlier step's call", async () => {
    await putOutcome(state, address(2), { result: "old" }, 1);
    expect((await readOutcomes(state, sessionKey, { runId: "run", step: 3 }, [{ id: "call_0" }])).size).toBe(
      0,
    );
    expect(await putOutcome(state, address(3), { result: "new" }, 1)).toBe(true);
  });

  it("has another call id on the node in every step", () => {
    expect(encodeCallAddress(address(1))).not.toBe(encodeCallAddress(address(2)));
    expect(decodeCallAddress(encodeCallAddress(address(7)))).toEqual(address(7));
  });
});

describe("the address of a call", () => {
  it.each([
    "",
    "s.",
    "s.!!",
    `s.${Buffer.from("[1,2,3,4]").toString("base64url")}`,
    `s.${Buffer.from('["a","b","c"]').toString("base64url")}`,
    `s.${Buffer.from('["a","b",1,"c",2]').toString("base64url")}`,
  ])("is not decoded from %j", (name) => {
    expect(decodeCallAddress(name)).toBeUndefined();
  });
});

/** A session with this run, in a table of its own. */
async function sessionWith(changes: Partial<Run> = {}, more: Partial<SessionState> = {}) {
  const table = createMemoryTable();
  await putSession(table, sessionKey, { run: { ...run, deadline: 1000, ...changes }, ...more });
  return { table, bucket: createMemoryBucket() };
}
const putSession = (table: Table, key: string, more: Partial<SessionState>) =>
  table.put({ ...(newSession(key, "id", 1) as object), ...more, ...metaKey(key) } as never);
const runOf = async (table: Table) => (await readSession(table, sessionKey))?.run;
const asked = { sessionKey: "agent:bob:main", runId: "r2", queued: false, at: 5000, waitSeconds: 30 };
const two = {
  call_0: { nodeId: "pi", tool: "pi__probe" },
  call_1: { nodeId: answererOf(asked.sessionKey), tool: "gsv__SessionSend", asked },
};

describe("a result", () => {
  const large = { result: "x".repeat(10_000) };

  it("is unknown when the session does not exist, or the call was sent to another node", async () => {
    const store = await sessionWith();
    for (const outcome of [{ result: 1 }, large]) {
      expect(await recordResult(store, address(5), "other", outcome, 1)).toEqual({ status: "unknown" });
      const nowhere = { ...address(5), sessionKey: "agent:main:none" };
      expect(await recordResult(store, nowhere, "pi", outcome, 1)).toEqual({ status: "unknown" });
    }
    expect(await runOf(store.table)).toEqual({ ...run, deadline: 1000 });
  });

  it("is dropped when its run has ended, or when the call is answered", async () => {
    const store = await sessionWith();
    const { run: _, ...ended } = (await readSession(store.table, sessionKey))!;
    await recordResult(store, address(5), "pi", { result: "first" }, 1);
    for (const outcome of [{ result: 1 }, large])
      expect(await recordResult(store, address(5), "pi", outcome, 1)).toMatchObject({ status: "dropped" });
    await putSession(store.table, sessionKey, ended);
    expect(await recordResult(store, address(5), "pi", large, 1)).toMatchObject({ status: "dropped" });
  });

  it("is dropped when another one is recorded while it is stored", async () => {
    const store = await sessionWith();
    const put: Table["put"] = async (...write) => {
      await store.table.put(...write);
      await recordResult(store, address(5), "pi", { result: "first" }, 1);
    };
    const slow = recordResult({ ...store, table: { ...store.table, put } }, address(5), "pi", large, 1);
    expect(await slow).toMatchObject({ status: "dropped", state: { run: { pendingCount: 0 } } });
  });

  it("is stored in the session up to 2,000 bytes, 8,000 for all of a step; otherwise in an item for a week", async () => {
    const store = await sessionWith({ resultBytes: 6000 });
    const of = (bytes: number) => ({ result: "x".repeat(bytes - '{"result":""}'.length) });
    const isInline = async (bytes: number) => {
      await putSession(store.table, sessionKey, { run: { ...run, resultBytes: 6000 } });
      await recordResult(store, address(5), "pi", of(bytes), 9000);
      return (await runOf(store.table))?.results?.call_0 !== undefined;
    };
    expect([await isInline(2000), await isInline(2001)]).toEqual([true, false]);
    const [item] = await store.table.query({ pk: `S#${sessionKey}`, prefix: "R#" });
    expect(item).toMatchObject({ expiresAt: 9 + 7 * 24 * 3600 });
    await putSession(store.table, sessionKey, { run: { ...run, resultBytes: 6001 } });
    await recordResult(store, address(5), "pi", of(2000), 1);
    expect(await runOf(store.table)).toMatchObject({ results: {}, pendingCount: 0 });
  });

  it("of a call that must not run twice is interrupted until its outcome is stored", async () => {
    const store = await sessionWith();
    const read = async () => (await readOutcomes(store, sessionKey, run, [{ id: "call_0" }])).get("call_0");
    expect(await read()).toBeUndefined();
    expect(await calls.putIntent(store.table, address(5), 9000)).toBe(true);
    expect(await calls.putIntent(store.table, address(5), 9000)).toBe(false);
    expect(await read()).toBe("interrupted");
    expect((await store.table.query({ pk: `S#${sessionKey}`, prefix: "R#" }))[0]?.expiresAt).toBe(604_809);
    await calls.settleIntent(store, address(5), { result: "done" });
    expect(await read()).toEqual({ result: "done" });
  });
});

describe("the wait for calls", () => {
  const expire = (table: Table, known: Partial<Run> = {}) =>
    calls.expireCalls(table, sessionKey, { ...run, deadline: 1000, ...known }, 9000);

  it("ends at its deadline: calls to nodes have timed out, and a session has not answered", async () => {
    const { table } = await sessionWith({ pending: two, pendingCount: 2, timedOut: ["earlier"] });
    const expired = await expire(table);
    expect(expired?.calls).toEqual([{ nodeId: "pi", callId: encodeCallAddress(address(5)) }]);
    expect(expired?.state.run).toMatchObject({
      pending: {},
      pendingCount: 0,
      timedOut: ["earlier", "call_0"],
    });
    const { at: _, waitSeconds: __, ...rest } = asked;
    expect(JSON.parse(expired!.state.run!.results!.call_1!)).toEqual({
      result: { ok: true, result: { status: "timeout", ...rest, waitedSeconds: 4 } },
    });
    expect(await table.get(metaKey(sessionKey))).toMatchObject({
      duePk: expect.stringMatching(/^DUE/),
      dueAt: 9000,
    });
    expect(await expire(table)).toEqual({
      state: expect.objectContaining({ sessionKey }),
      calls: [],
      unanswered: [],
    });
  });

  it.each<[string, Partial<Run>]>([
    ["run", { runId: "other" }],
    ["step", { step: 4 }],
    ["deadline", { deadline: 999 }],
  ])("does not end for another %s", async (_, known) => {
    const { table } = await sessionWith();
    expect(await expire(table, known)).toBeUndefined();
    expect(await runOf(table)).toMatchObject({ pendingCount: 1 });
  });

  it("does not end for a run that calls the model, or in a session without a run", async () => {
    expect(await expire((await sessionWith({ phase: "model" })).table)).toBeUndefined();
    expect(await expire(createMemoryTable())).toBeUndefined();
  });

  it("ends again after an answer that came first", async () => {
    const { table, bucket } = await sessionWith({ pending: two, pendingCount: 2 });
    let answers = 0;
    const update: Table["update"] = async (...write) => {
      if (answers++ === 0) await recordResult({ table, bucket }, address(5), "pi", { result: 1 }, 1);
      return table.update(...write);
    };
    expect((await expire({ ...table, update }))?.calls).toEqual([]);
    expect(await runOf(table)).toMatchObject({ pendingCount: 0, timedOut: [] });
  });

  it("is extended for a call that still runs, with a schedule for the new deadline", async () => {
    const { table } = await sessionWith({ deadline: undefined as never });
    const once: [string, number, object][] = [];
    const schedules = { once: async (...call: [string, number, object]) => void once.push(call) };
    const extend = (atLeast: number, of = address(5)) =>
      calls.extendWait({ table, schedules: schedules as never }, of, { atLeast, until: 2000 });
    expect([await extend(2000), await extend(2000)]).toEqual([true, true]);
    expect(await runOf(table)).toMatchObject({ deadline: 2000 });
    const event = { kind: "tool-timeout", sessionKey, runId: "run", step: 5, deadline: 2000 };
    expect(once).toEqual([[expect.stringMatching(/^tools-[0-9a-f]{40}$/), 2000, event]]);
    const others = [{ step: 4 }, { runId: "other" }, { callId: "call_1" }, { sessionKey: "agent:main:none" }];
    for (const other of others) expect(await extend(1, { ...address(5), ...other })).toBe(false);
    const update: Table["update"] = async (...write) => {
      await expire(table, { deadline: 2000 });
      return table.update(...write);
    };
    const overtaken = { table: { ...table, update }, schedules: schedules as never };
    expect(await calls.extendWait(overtaken, address(5), { atLeast: 2001, until: 3000 })).toBe(false);
    await putSession(table, sessionKey, { run, stop: "run" });
    expect(await extend(1)).toBe(false);
    expect(once).toHaveLength(1);
  });

  it("lasts as long as the model said for another session, and the tools' time for a node", () => {
    expect(stepDeadline({}, 60_000, 1000)).toBe(61_000);
    expect(stepDeadline({ a: two.call_0 }, 60_000, 1000)).toBe(61_000);
    expect(stepDeadline({ b: two.call_1 }, 60_000, 1000)).toBe(35_000);
    expect(stepDeadline(two, 60_000, 1000)).toBe(61_000);
    expect(stepDeadline({ b: two.call_1 }, 60_000, 36_000)).toBe(36_000);
  });
});

describe("a run", () => {
  const message = { id: "m", at: 1, origin: { kind: "client" }, kind: "message", text: "x" } as const;
  const sender = { channel: "slack", senderId: "u" };

  it.each<[string, Partial<Run>, object | undefined]>([
    ["a client with an id", { senderId: "u" }, undefined],
    ["a message", { origin: { kind: "channel", channel: "slack" } as never, senderId: "u" }, sender],
    ["a message of nobody", { origin: { kind: "channel", channel: "slack" } as never }, undefined],
    ["a heartbeat", { task: { kind: "heartbeat", sender } as never, senderId: "u" }, undefined],
    ["a command", { task: { kind: "exec", channel: "slack" } as never, senderId: "u" }, sender],
  ])("of %s works on behalf of its sender", (_, of, expected) => {
    expect(senderOf({ ...run, ...of })).toEqual(expected);
  });

  it("keeps its writer, settings and task in the next step", () => {
    const kept = {
      ...{ role: "guest", senderId: "u", configurationVersion: 3 },
      ...{ overrides: { thinkingLevel: "low" }, task: { kind: "heartbeat", agentId: "main" } },
    } as const;
    const fresh = newRun({ ...message, ...kept } as never, 1, 7);
    expect(fresh).toEqual({
      ...{ ...kept, runId: "m", phase: "model", step: 0, attempt: 1, startedAt: 7 },
      ...{ origin: { kind: "client" }, origins: [], pending: {}, pendingCount: 0 },
    });
    expect(nextStep({ ...fresh, ...run, shrunk: "refused" }, [])).toEqual({
      ...{ ...fresh, runId: "run", startedAt: 1, step: 6 },
    });
    expect(Object.keys(newRun(message, 1, 7))).toHaveLength(9);
    expect(failed(fresh, "no")).toEqual({ ...fresh, phase: "reply", failure: "no" });
  });

  it.each<[string, Partial<SessionState>, boolean]>([
    ["nothing to do", {}, false],
    ["archived messages to delete", { clearFrom: 1 }, true],
    ["a model to call", { run: { ...run, phase: "model" } }, true],
    ["pending calls", { run }, false],
    ["answered calls", { run: { ...run, pendingCount: 0 } }, true],
    ["calls that were interrupted often", { run: { ...run, retryAt: 1 } }, true],
    ["calls that were sent in the end", { run: { ...run, retryAt: 1, sent: run.attempt } }, false],
    ["a stop", { run, stop: "run" }, true],
    ["a message and a lease until now", { inbox: [message], leaseUntil: 1000 }, false],
    ["a message and a lease that has expired", { inbox: [message], leaseUntil: 999 }, true],
  ])("needs the agent in a session with %s: %j → %s", (_, of, needs) => {
    expect(needsAgent({ ...newSession(sessionKey, "id", 1), ...of }, 1000)).toBe(needs);
  });
});
