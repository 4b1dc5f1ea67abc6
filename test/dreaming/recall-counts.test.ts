import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { useMemory } from "../../functions/agent/self/answer-memory.ts";
import type { ToolCallContext } from "../../functions/agent/tools/native/native-tool.ts";
import { dream, dreamIfLost } from "../../functions/timer/dream.ts";
import { sweep as sweepDue } from "../../functions/timer/sweep.ts";
import type { Timer } from "../../functions/timer/timer.ts";
import { dreamLeaseMs, readDream } from "../../shared/dreaming/dream-state.ts";
import { listRecalls } from "../../shared/dreaming/recall-events.ts";
import { keyRules } from "../../shared/session/key/routing.ts";
import { sessionKind } from "../../shared/session/key/session-key.ts";
import { audienceOf } from "../../shared/workspace/privacy.ts";
import { duePks, type State, startState } from "../support/state.ts";
import { DreamBench, dayMs } from "./dream-bench.ts";

let state: State;
let bench: DreamBench;
let agents = 0;
let calls = 0;

beforeAll(async () => {
  state = await startState();
});
beforeEach(async () => {
  bench = new DreamBench(state, `a${++agents}`);
  await bench.remember("Ada drinks green tea at breakfast");
  await bench.remember("The tea is bought in Harbour Street");
});
afterAll(() => state.close());

/** A recall with the tool, as a session of a key makes it. */
async function recall(query: string, sessionKey = `agent:${bench.agentId}:main`, callId = `c${++calls}`) {
  const kind = sessionKind(sessionKey, keyRules(bench.configuration));
  const { table, schedules } = bench.dreaming();
  const context = {
    agent: {
      ...{ table, schedules, now: () => bench.now, memories: async () => bench.memories },
      configuration: { load: async () => bench.configuration },
    },
    turn: { agentId: bench.agentId, audience: audienceOf(kind) },
    address: { sessionKey, runId: "r", step: 1, callId },
  } as unknown as ToolCallContext;
  const outcome = await useMemory({ action: "recall", query }, context);
  if ("inParallel" in outcome) await outcome.inParallel;
  return outcome;
}
const counted = () => listRecalls(state.table, bench.agentId, 0);
const timer = (): Timer =>
  ({
    table: state.table,
    now: () => bench.now,
    configuration: { load: async () => bench.configuration },
    sweepMemories: () => bench.sweep(),
  }) as unknown as Timer;

describe("a recall", () => {
  it("I26: is one event, with each memory that it found and its place", async () => {
    await recall("green tea of Harbour Street");
    const [event, ...others] = await counted();
    expect(others).toEqual([]);
    expect(event).toMatchObject({ query: "green tea of Harbour Street", at: bench.now });
    expect(event?.hits).toMatchObject([
      { rank: 1, path: "memory/2026-04-24.md" },
      { rank: 2, path: "memory/2026-04-24.md" },
    ]);
  });

  it("counts only the memories that answer the question, not those that share a common word with it", async () => {
    for (const fact of ["works in Basel", "plays the cello", "has two cats"])
      await bench.remember(`Zoe ${fact}`);
    await bench.remember("Zoe is allergic to peanuts");
    for (const query of ["is Zoe allergic?", "Zoe's allergic reactions", "peanuts and Zoe", "Zoe"])
      await recall(query);
    const hits = (await counted()).map((event) => event.hits.length);
    const [{ id } = { id: "" }] = await bench.memories.recall(
      { agentId: bench.agentId, audience: "main", now: bench.now, timezone: "UTC" },
      "peanuts",
      1,
    );
    expect(hits).toEqual([1, 1, 1]);
    expect((await counted()).every((event) => event.hits[0]?.memory === id)).toBe(true);
  });

  it("I26: that is repeated after a crash is one event, and one without a question or an answer is none", async () => {
    await recall("green tea", undefined, "same");
    bench.now += 1000;
    await recall("green tea", undefined, "same");
    await recall(" ");
    await recall("xylophone");
    expect(await counted()).toHaveLength(1);
  });

  it("C19: counts in main and named conversations alone, and in no others", async () => {
    const session = { ...bench.configuration.session, dmScope: "per-channel-peer" } as const;
    bench.configuration = { ...bench.configuration, session };
    const of = (rest: string) => `agent:${bench.agentId}:${rest}`;
    await recall("green tea", of("telegram:dm:7"));
    await recall("green tea", of("telegram:guest:7"));
    await recall("green tea", of("telegram:group:7"));
    await recall("green tea", of("cron:job"));
    await recall("green tea", of("heartbeat:system:internal"));
    expect(await counted()).toEqual([]);
    await recall("green tea", of("main"));
    await recall("green tea", of("work"));
    expect(await counted()).toHaveLength(2);
  });

  it("I32: is not counted, and plans nothing, where dreaming is off", async () => {
    bench.configuration = {
      ...bench.configuration,
      dreaming: { ...bench.configuration.dreaming, enabled: false },
    };
    await recall("green tea");
    expect(await counted()).toEqual([]);
    expect([bench.scheduled, await readDream(state.table, bench.agentId)]).toEqual([[], {}]);
  });

  it("whose count cannot be stored is answered all the same", async () => {
    const { table } = bench.dreaming();
    const failing = { ...table, put: async () => Promise.reject(new Error("no")) };
    const context = {
      agent: {
        ...{ table: failing, now: () => bench.now, memories: async () => bench.memories },
        configuration: { load: async () => bench.configuration },
        schedules: { once: async () => Promise.reject(new Error("no")) },
      },
      turn: { agentId: bench.agentId, audience: "main" },
      address: { sessionKey: `agent:${bench.agentId}:main`, runId: "r", step: 1, callId: "x" },
    } as unknown as ToolCallContext;
    const outcome = await useMemory({ action: "recall", query: "green tea" }, context);
    expect(outcome).toMatchObject({ ok: true, result: { count: 2 } });
    await expect("inParallel" in outcome ? outcome.inParallel : undefined).resolves.toBeUndefined();
  });
});

describe("the time of a sweep", () => {
  const first = Date.parse("2026-04-25T03:00:00Z");

  it("C20: is planned by the first recall, once", async () => {
    await recall("green tea");
    await recall("tea");
    expect(bench.scheduled).toMatchObject([
      { at: first, event: { kind: "dream", agentId: bench.agentId, at: first } },
    ]);
    expect(await readDream(state.table, bench.agentId)).toMatchObject({ nextAt: first });
  });

  it("C20: is planned again by a recall after the settings were changed", async () => {
    await recall("green tea");
    bench.configuration = {
      ...bench.configuration,
      dreaming: { ...bench.configuration.dreaming, atHour: 5 },
    };
    await recall("tea");
    const { nextAt = 0 } = await readDream(state.table, bench.agentId);
    expect(new Date(nextAt).toISOString()).toBe("2026-04-25T05:00:00.000Z");
    await dream(timer(), { agentId: bench.agentId, at: first });
    expect((await readDream(state.table, bench.agentId)).last).toBeUndefined();
  });

  it("C20: sweeps, and plans the next one", async () => {
    for (const query of ["green tea", "breakfast", "what is drunk at breakfast"]) await recall(query);
    bench.now = first + 20_000;
    await dream(timer(), { agentId: bench.agentId, at: first });
    expect(await bench.read("MEMORY.md")).toContain("- Ada drinks green tea at breakfast _(");
    const { nextAt, last } = await readDream(state.table, bench.agentId);
    expect([nextAt, last?.at]).toEqual([first + dayMs, first + 20_000]);
    // The Scheduler may fire twice.
    await dream(timer(), { agentId: bench.agentId, at: first });
    expect((await bench.read("DREAMS.md"))?.match(/## Deep Sleep/g)).toHaveLength(1);
  });

  it("C20: that the Scheduler has lost is found by the sweep of what is overdue", async () => {
    await recall("green tea");
    bench.now = first + 60_000;
    await sweepDue(timer());
    expect((await readDream(state.table, bench.agentId)).last).toBeUndefined();
    bench.now = first + 130_000;
    await sweepDue(timer());
    expect((await readDream(state.table, bench.agentId)).last).toMatchObject({ candidates: 1 });
  });

  it("I36: a sweep that was killed is gone on with by the sweep of what is overdue", async () => {
    await recall("green tea");
    bench.now = first;
    await bench.sweep({ left: 9 }).catch(() => {});
    expect((await readDream(state.table, bench.agentId)).sweep).toBeDefined();
    bench.now = first + dreamLeaseMs + 1;
    await sweepDue(timer());
    expect(await readDream(state.table, bench.agentId)).toMatchObject({
      last: { at: first },
      nextAt: first + dayMs,
    });
    bench.now += 1000;
    expect(await duePks(state.table, bench.now)).not.toContain(`DREAM#${bench.agentId}`);
  });

  it("is forgotten when dreaming was turned off meanwhile", async () => {
    await recall("green tea");
    bench.configuration = {
      ...bench.configuration,
      dreaming: { ...bench.configuration.dreaming, enabled: false },
    };
    bench.now = first;
    await dream(timer(), { agentId: bench.agentId, at: first });
    expect((await readDream(state.table, bench.agentId)).nextAt).toBeUndefined();
    await dreamIfLost(timer(), bench.agentId);
    expect(await bench.read("DREAMS.md")).toBeUndefined();
  });
});
