import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Agent } from "../../functions/agent/agent.ts";
import { holdSession } from "../../functions/agent/session-loop.ts";
import { bindPeer, dropConnection, openConnection } from "../../shared/peers/registry.ts";
import { textOf } from "../../shared/protocol/messages.ts";
import { recordResult } from "../../shared/session/calls.ts";
import type { InboxEntry } from "../../shared/session/inbox-entry.ts";
import { requestStop } from "../../shared/session/stop.ts";
import { startOpenAiServer } from "../support/models/openai-server.ts";
import type { ModelServer, Reply } from "../support/models/scripted-model.ts";
import { type State, startState } from "../support/state.ts";
import { type Bench, immortal, Killed, openBench } from "./bench.ts";

let state: State;
let model: ModelServer;
let bench: Bench;
let key: string;
let sessions = 0;
let replies: Reply[] = [];
beforeAll(async () => {
  state = await startState();
  model = await startOpenAiServer(() => replies.shift() ?? { text: "the answer" });
  bench = openBench(state, { provider: "openai-compatible", id: "m", baseUrl: model.url });
});
beforeEach(async () => {
  key = `agent:main:interrupted-${++sessions}`;
  const entry: InboxEntry = { id: "m", at: 1, origin: { kind: "client" }, kind: "message", text: "hello" };
  await bench.submit(key, entry);
});
afterAll(async () => {
  await state?.close();
  await model?.close();
});

const minuteMs = 60_000;
const runOf = async () => (await bench.state(key)).run;
const said = async () => (await bench.live(key)).map(textOf);

/** Wakes an agent whose process is killed while the model answers, after the start was counted. @returns whether the model was called */
async function wakeAndKill(): Promise<boolean> {
  const before = (await runOf())?.attempt ?? 0;
  const life = immortal();
  let isCalled = false;
  const callModel: Agent["callModel"] = async () => {
    isCalled = true;
    await expect.poll(async () => (await runOf())?.attempt).toBe(before + 1);
    life.left = 0;
    throw new Killed();
  };
  await holdSession({ ...bench.agent(life), callModel }, key, () => 900_000).catch((error: unknown) => {
    if (!(error instanceof Killed)) throw error;
  });
  // The sweep comes every minute, after the lease has ended.
  bench.later += minuteMs;
  return isCalled;
}

/** @returns the number of model calls in that time */
async function killFor(ms: number): Promise<number> {
  const until = bench.later + ms;
  let calls = 0;
  while (bench.later < until && (await bench.state(key)).head < 2) calls += (await wakeAndKill()) ? 1 : 0;
  return calls;
}

describe("a message whose process is killed at every start", () => {
  it("is answered when the kills end after twenty minutes", async () => {
    await killFor(20 * minuteMs);
    // Longer than any wait between two starts.
    for (let minute = 0; minute <= 16 && (await runOf()); minute++) {
      await bench.invoke(key);
      bench.later += minuteMs;
    }
    expect(await said()).toEqual(["hello", "the answer"]);
  });

  it("ends with an error after eight paid calls, and not within half an hour", async () => {
    const begun = bench.later;
    expect(await killFor(180 * minuteMs)).toBe(8);
    expect(bench.later - begun).toBeGreaterThan(30 * minuteMs);
    expect(bench.later - begun).toBeLessThan(60 * minuteMs);
    expect(await said()).toEqual(["hello", "[no answer: the turn was interrupted 8 times]"]);
  });

  it("is released until the next start, when the sweep wakes the agent", async () => {
    for (let start = 0; start < 3; start++) expect(await wakeAndKill()).toBe(true);
    bench.later -= minuteMs - 31_000;
    expect(await wakeAndKill()).toBe(false);
    const { owner, leaseUntil, run, ...rest } = await bench.state(key);
    expect([owner, leaseUntil, run?.attempt]).toEqual([undefined, undefined, 3]);
    expect(rest).toMatchObject({ dueAt: run?.retryAt });
  });

  it.each(["before", "after"])(
    "is stopped at once by a stop %s the agent acquires the lease",
    async (when) => {
      for (let start = 0; start < 4; start++) await wakeAndKill();
      const life = immortal();
      life.before = async () => {
        const updates = life.calls.filter((call) => call === "table.update").length;
        // The first write acquires the lease, the second one releases it.
        if (updates === (when === "before" ? 1 : 2) && life.calls.at(-1) === "table.update")
          await requestStop(state.table, key, "stop", Date.now() + bench.later);
      };
      expect(await bench.invoke(key, life)).toBe(true);
      expect(await said()).toEqual(["hello", "[stopped by the user before an answer]"]);
      expect(await runOf()).toBeUndefined();
    },
  );
});

const now = () => Date.now() + bench.later;

async function connectNode(connectionId: string): Promise<void> {
  const record = { connectionId, openedAt: now() };
  await openConnection(state.table, record);
  await bindPeer(state.table, record, {
    ...{ id: "pi", mode: "node", connectionId, tokenId: "t", version: "1", platform: "linux" },
    ...{
      tools: [{ name: "probe", description: "", inputSchema: { type: "object" } }],
      connectedAt: now(),
    },
  });
}

it("a call to a node that was gone ends when the node returns after a kill, whichever call the kill interrupts", async () => {
  const ended: string[] = [];
  let isKilled = true;
  for (let left = 0; isKilled; left++) {
    key = `agent:main:returned-${left}`;
    await connectNode(`pi-${left}-a`);
    await bench.submit(key, { id: "a", at: 1, origin: { kind: "client" }, kind: "message", text: "hello" });
    await bench.invoke(key);
    await dropConnection(state.table, `pi-${left}-a`, now());
    bench.later += minuteMs;
    replies = [{ toolCalls: [{ name: "pi__probe", arguments: {} }] }];
    await bench.submit(key, { id: "b", at: 2, origin: { kind: "client" }, kind: "message", text: "look" });
    const life = { ...immortal(), left };
    isKilled = !(await bench.invoke(key, life));
    await connectNode(`pi-${left}-b`);
    for (let starts = 0; starts < 2; starts++) {
      bench.later += minuteMs;
      const { pending = {} } = (await runOf()) ?? {};
      for (const callId of Object.keys(pending)) {
        const { runId, step } = (await runOf())!;
        await recordResult(
          state,
          { sessionKey: key, runId, step, callId },
          "pi",
          { result: "seen" },
          Date.now(),
        );
      }
      await bench.invoke(key);
    }
    expect([left, await runOf()]).toEqual([left, undefined]);
    ended.push(...(await bench.live(key)).filter(({ role }) => role === "toolResult").map(textOf));
  }
  expect(new Set(ended.map((text) => text.replace(/ since .*/, "")))).toContain(
    "Error: not run: it could not be sent when you called it. Call it again if it is still needed.",
  );
});
