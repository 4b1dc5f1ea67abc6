import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { openMemories } from "../../shared/memory/memories.ts";
import { newestNotes } from "../../shared/memory/stored-notes.ts";
import { createSegments, removeNotes } from "../../shared/recall/segments.ts";
import { addDays } from "../../shared/runtime/zoned-time.ts";
import { openWorkspace } from "../../shared/workspace/workspace-files.ts";
import type { Bucket } from "../../shared/world/world.ts";
import { type State, startState } from "../support/state.ts";

const agentId = "a";
const days = 60;
const use = { agentId, audience: "main", now: Date.parse("2026-05-05T08:00:00Z"), timezone: "UTC" } as const;
const pathOf = (day: number) => `memory/${addDays("2026-03-01", day)}.md`;

let state: State;
let calls: { get: number; put: number };
beforeAll(async () => {
  state = await startState();
});
afterAll(() => state.close());
beforeEach(async () => {
  const { objects } = await state.bucket.list("agents/");
  for (const { key } of objects) await state.bucket.delete(key);
  for (let day = 0; day < days; day++) await write(day, `- the boiler of day ${day}\n`);
});

const write = (day: number, text: string) => state.bucket.put(`agents/${agentId}/${pathOf(day)}`, text);
/** The quarters of the days. */
const quarters = ["1", "2"].map((quarter) => `agents/${agentId}/recall/2026-q${quarter}.1.json.gz`);

/** The memories of a function that has just started, whose calls are counted from now on. */
function cold(bucket: Partial<Bucket> = {}) {
  calls = { get: 0, put: 0 };
  const counted: Bucket = {
    ...state.bucket,
    get: (key) => {
      calls.get++;
      return state.bucket.get(key);
    },
    put: (key, body, options) => {
      calls.put++;
      return state.bucket.put(key, body, options);
    },
    ...bucket,
  };
  return openMemories({ table: state.table, bucket: counted, workspace: openWorkspace(counted) });
}

const recalled = async (memories = cold(), query = "") =>
  (await memories.recall(use, query, 100)).map(({ text }) => text);

it("reads the notes of past days at once in a function that is cold", async () => {
  const all = await recalled();
  expect(all).toHaveLength(days);
  expect(calls).toEqual({ get: days, put: quarters.length });
  expect(await recalled()).toEqual(all);
  expect(calls).toEqual({ get: quarters.length + newestNotes, put: 0 });
});

it("reads a day more each day, and no more", async () => {
  await recalled();
  for (let day = days; day < days + 5; day++) {
    await write(day, `- the garden of day ${day}\n`);
    expect((await recalled())[0]).toBe(`the garden of day ${day}`);
    // Two quarters, the newest days and the one before them; and the object to which that one is added.
    expect(calls).toEqual({ get: quarters.length + newestNotes + 1 + 1, put: 1 });
  }
});

it("sees at once what was changed in a file, or deleted, or added to days long past", async () => {
  await recalled();
  await write(3, "- the kettle of day 3\n");
  await state.bucket.delete(`agents/${agentId}/${pathOf(4)}`);
  await state.bucket.put(`agents/${agentId}/memory/2020-01-01.md`, "- an old day\n");
  const now = await recalled();
  expect(now).toHaveLength(days);
  expect(now).toEqual(expect.arrayContaining(["the kettle of day 3", "an old day"]));
  expect(now).not.toEqual(expect.arrayContaining(["the boiler of day 3"]));
  expect(now).not.toEqual(expect.arrayContaining(["the boiler of day 4"]));
  await recalled();
  // Also the quarter of the old day.
  expect(calls).toEqual({ get: quarters.length + 1 + newestNotes, put: 0 });
  expect(await indexed()).not.toContain("boiler of day 3\n");
  expect(await indexed()).not.toContain("boiler of day 4\n");
});

it("looks at nothing but the changed note in a function that is warm", async () => {
  const memories = cold();
  await recalled(memories);
  await write(days - 1, "- new\n");
  calls = { get: 0, put: 0 };
  expect((await recalled(memories))[0]).toBe("new");
  expect(calls).toEqual({ get: 0, put: 0 });
});

it("keeps nothing of what is forgotten, or of a deleted note", async () => {
  const memories = cold();
  const [found] = await memories.recall(use, "the boiler of day 7", 1);
  expect(found?.text).toBe("the boiler of day 7");
  await memories.forget(use, found?.id ?? "");
  expect(await indexed()).not.toContain("boiler of day 7");
  expect(await indexed()).toContain("boiler of day 8");
  const segments = createSegments(state.bucket);
  const workspace = openWorkspace(state.bucket, undefined, (id, path) => removeNotes(segments, id, [path]));
  await workspace.delete(agentId, pathOf(8));
  expect(await indexed()).not.toContain("boiler of day 8");
  expect(await recalled()).toHaveLength(days - 2);
});

it("stores no note whose text another function has changed since it was read", async () => {
  const other = cold();
  let isFirst = true;
  const slow = cold({
    put: async (key, body, options) => {
      if (isFirst) {
        isFirst = false;
        await other.forget(use, (await other.recall(use, "the boiler of day 7", 1))[0]?.id ?? "");
      }
      return state.bucket.put(key, body, options);
    },
  });
  expect(await recalled(slow)).toHaveLength(days);
  expect(await indexed()).not.toContain("boiler of day 7\n");
  expect(await indexed()).toContain("boiler of day 8\n");
});

it("answers also when a segment is damaged, or cannot be written", async () => {
  await state.bucket.put(quarters[0] ?? "", "not compressed");
  const full = cold({
    put: async () => {
      throw new Error("no space left");
    },
  });
  expect(await recalled(full)).toHaveLength(days);
  expect(await recalled()).toHaveLength(days);
  expect(await indexed()).toContain("boiler of day 7");
});

async function indexed(): Promise<string> {
  const segments = await createSegments(state.bucket).read(agentId);
  return segments.map(({ notes }) => Object.values(notes).map(({ text }) => text)).join();
}
