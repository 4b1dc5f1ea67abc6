import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { defaults } from "../../shared/configuration/defaults.ts";
import { acquireDream, dreamLeaseMs, readDream } from "../../shared/dreaming/dream-state.ts";
import { planDream } from "../../shared/dreaming/plan-dream.ts";
import { workspaceLog } from "../../shared/git/workspace-history.ts";
import { memoryId } from "../../shared/memory/memory-line.ts";
import { hasGit, withClone } from "../git/git-folder.ts";
import { createMemoryBucket, type MemoryBucket } from "../support/memory-bucket.ts";
import { type State, startState } from "../support/state.ts";
import { DreamBench, dayMs } from "./dream-bench.ts";

let state: State;
let bucket: MemoryBucket;
let bench: DreamBench;
let agents = 0;
/** More calls than a sweep makes. */
const maxCalls = 100;

beforeAll(async () => {
  state = await startState();
});
beforeEach(() => fresh());
afterAll(() => state.close());

/** An agent with two memories that are to be promoted. */
async function fresh(): Promise<void> {
  bucket = createMemoryBucket();
  bench = new DreamBench({ table: state.table, bucket }, `a${++agents}`);
  for (const text of ["Ada drinks green tea at breakfast", "The boiler is repaired by Olsen"]) {
    const id = await bench.remember(text);
    await bench.recall(id, ["what is drunk", "tea or boiler", "breakfast"]);
  }
}

/** One section, one diary entry, each promotion once, one commit of the sweep, and a repository that git takes. */
async function expectOnce(): Promise<void> {
  const [memory = "", diary = ""] = [await bench.read("MEMORY.md"), await bench.read("DREAMS.md")];
  expect(memory.match(/^## Dreamed/gm)).toHaveLength(1);
  expect(memory.match(/^- .*_\(score=/gm)).toHaveLength(2);
  expect(diary.match(/^## Deep Sleep/gm)).toHaveLength(1);
  expect(diary).toContain("- promoted: 2\n");
  const records = [...(await bench.memories.ledger.all(bench.agentId)).values()];
  expect(records.map(({ promoted }) => promoted?.at)).toEqual([bench.now, bench.now]);
  const { sweep, owner, last, nextAt } = await readDream(state.table, bench.agentId);
  expect([sweep, owner, last?.promoted]).toEqual([undefined, undefined, 2]);
  expect(bench.scheduled.map(({ at }) => at)).toContain(nextAt);
  const commits = await workspaceLog(bucket, bench.agentId, { limit: 10 });
  expect(commits.filter(({ message }) => message.startsWith("promote: 2 of 2 memories"))).toHaveLength(1);
  expect(commits).toHaveLength(1);
}

async function expectGitTakesIt(): Promise<void> {
  if (!hasGit) return;
  await withClone(bucket, bench.agentId, (git) => {
    expect(git("fsck", "--strict", "--no-dangling")).toBe("");
    expect(git("show", "HEAD:MEMORY.md")).toContain("green tea");
  });
}

describe("a sweep of memories", () => {
  it("I36: that is killed at any call is gone on with: one section, one entry, each promotion once", async () => {
    let calls = 0;
    for (let isDone = false; !isDone && calls < maxCalls; calls++) {
      await fresh();
      const began = bench.now;
      isDone = await bench.sweep({ left: calls }).then(
        () => true,
        () => false,
      );
      // Whatever was begun holds the lease; another may sweep when that has ended.
      bench.now = began + dreamLeaseMs + 1;
      const { sweep, last } = await readDream(state.table, bench.agentId);
      if (!last) await bench.sweep();
      bench.now = sweep || last ? began : bench.now;
      await expectOnce();
    }
    await expectGitTakesIt();
    expect(calls).toBeGreaterThan(15);
    expect(calls).toBeLessThan(maxCalls);
  });

  it("that is killed at any call, before one of its memories is forgotten, promotes the other once", async () => {
    let calls = 0;
    for (let isDone = false; !isDone && calls < maxCalls; calls++) {
      await fresh();
      isDone = await bench.sweep({ left: calls }).then(
        () => true,
        () => false,
      );
      const use = { agentId: bench.agentId, audience: "main", now: bench.now, timezone: "UTC" } as const;
      await bench.memories.forget(use, memoryId("The boiler is repaired by Olsen"));
      bench.now += dreamLeaseMs + 1;
      await bench.sweep();
      for (const path of ["MEMORY.md", "DREAMS.md"]) {
        const text = (await bench.read(path)) ?? "";
        expect(text.match(/green tea/g), `${path} after ${calls} calls`).toHaveLength(1);
        expect(text).not.toContain("Olsen");
      }
      expect((await bench.read("MEMORY.md"))?.match(/^## Dreamed/gm)).toHaveLength(1);
    }
    expect(calls).toBeGreaterThan(15);
  });

  it("I36: that is killed again and again gets to its end", async () => {
    const began = bench.now;
    for (let calls = 3; !(await readDream(state.table, bench.agentId)).last && calls < maxCalls; calls++) {
      await bench.sweep({ left: calls }).catch(() => {});
      bench.now += dreamLeaseMs + 1;
    }
    bench.now = (await readDream(state.table, bench.agentId)).last?.at ?? 0;
    expect(bench.now).toBeGreaterThanOrEqual(began);
    await expectOnce();
    await expectGitTakesIt();
  });

  it("I36: of two at once one does it, and the other leaves", async () => {
    const outcomes = await Promise.all([bench.sweep(), bench.sweep(), bench.sweep()]);
    expect(outcomes.filter(Boolean)).toHaveLength(1);
    await expectOnce();
    await expectGitTakesIt();
  });

  it("I36: whose lease was taken over writes the same as the one that took it", async () => {
    const began = bench.now;
    // It stalls at its first write of a file, until another has gone on with it.
    let goOn = () => {};
    const stalled = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const dreaming = bench.dreaming();
    const { change } = dreaming.workspace;
    let reached = () => {};
    const atFile = new Promise<void>((resolve) => {
      reached = resolve;
    });
    dreaming.workspace.change = async (...args) => {
      reached();
      await stalled;
      return change(...args);
    };
    const first = bench.sweepWith(dreaming);
    await atFile;
    expect(await bench.sweep()).toBeUndefined();
    bench.now += dreamLeaseMs + 1;
    await bench.sweep();
    goOn();
    await first;
    bench.now = began;
    await expectOnce();
    await expectGitTakesIt();
  });

  it("I32: that fails does not count: the same time is tried again", async () => {
    await bench.sweep();
    const planned = (await readDream(state.table, bench.agentId)).nextAt;
    bench.now += dayMs;
    await expect(bench.sweep({ left: 2 })).rejects.toThrow("killed");
    expect((await readDream(state.table, bench.agentId)).nextAt).toBe(planned);
    expect((await readDream(state.table, bench.agentId)).last?.at).toBe(bench.now - dayMs);
  });

  it("takes a memory out again that was forgotten after it had decided", async () => {
    const use = { agentId: bench.agentId, audience: "main", now: bench.now, timezone: "UTC" } as const;
    const [tea] = await bench.memories.recall(use, "green tea", 1);
    await bench.sweep({ left: 9 }).catch(() => {});
    expect((await readDream(state.table, bench.agentId)).sweep?.promotions).toHaveLength(2);
    await bench.memories.forget(use, tea?.id ?? "");
    bench.now += dreamLeaseMs + 1;
    await bench.sweep();
    expect(await bench.read("MEMORY.md")).toContain("boiler");
    expect(await bench.read("MEMORY.md")).not.toContain("green tea");
    expect(await bench.read("DREAMS.md")).not.toContain("green tea");
  });
});

it("a recall during a sweep does not postpone the check of that sweep", async () => {
  const { table } = state;
  const { agentId, now } = bench;
  await acquireDream(table, agentId, "owner", now);
  const schedules = { once: async () => {} };
  const enabled = { ...defaults, dreaming: { ...defaults.dreaming, enabled: true } };
  await planDream({ table, schedules }, agentId, enabled, now);
  expect(await readDream(table, agentId)).toMatchObject({ dueAt: now + dreamLeaseMs });
});
