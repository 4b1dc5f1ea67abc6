import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { openMemories } from "../../shared/memory/memories.ts";
import { newestNotes } from "../../shared/memory/notes-index.ts";
import { addDays } from "../../shared/runtime/zoned-time.ts";
import { openWorkspace } from "../../shared/workspace/workspace-files.ts";
import { notesIndexPath } from "../../shared/workspace/workspace-paths.ts";
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
const indexKey = `agents/${agentId}/${notesIndexPath}`;

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
  expect(calls).toEqual({ get: 1 + days, put: 1 });
  expect(await recalled()).toEqual(all);
  expect(calls).toEqual({ get: 1 + newestNotes, put: 0 });
});

it("reads a day more each day, and no more", async () => {
  await recalled();
  for (let day = days; day < days + 5; day++) {
    await write(day, `- the garden of day ${day}\n`);
    expect((await recalled())[0]).toBe(`the garden of day ${day}`);
    expect(calls).toEqual({ get: 1 + newestNotes + 1, put: 1 });
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
  expect(calls).toEqual({ get: 1 + newestNotes, put: 0 });
});

it("looks at nothing but the changed note in a function that is warm", async () => {
  const memories = cold();
  await recalled(memories);
  await write(days - 1, "- new\n");
  calls = { get: 0, put: 0 };
  expect((await recalled(memories))[0]).toBe("new");
  expect(calls).toEqual({ get: 0, put: 0 });
});

it("keeps nothing of what is forgotten, or of a note that is deleted", async () => {
  const memories = cold();
  const [found] = await memories.recall(use, "the boiler of day 7", 1);
  expect(found?.text).toBe("the boiler of day 7");
  await memories.forget(use, found?.id ?? "");
  expect(await indexed()).not.toContain("boiler of day 7");
  expect(await indexed()).toContain("boiler of day 8");
  await openWorkspace(state.bucket).delete(agentId, pathOf(8));
  expect(await state.bucket.get(indexKey)).toBeUndefined();
  expect(await recalled()).toHaveLength(days - 2);
  await memories.files.dropIndex(agentId);
  expect(await indexed()).not.toContain("boiler");
});

it("writes nothing over what another function wrote meanwhile", async () => {
  const other = cold();
  let isFirst = true;
  const slow = cold({
    get: async (key) => {
      const found = await state.bucket.get(key);
      if (key === indexKey && isFirst) {
        isFirst = false;
        await recalled(other);
        await other.forget(use, (await other.recall(use, "the boiler of day 7", 1))[0]?.id ?? "");
      }
      return found;
    },
  });
  expect(await recalled(slow)).toHaveLength(days - 1);
  expect(await indexed()).not.toContain("boiler of day 7");
});

it("answers also when the index is damaged, or cannot be written", async () => {
  await state.bucket.put(indexKey, "not compressed");
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
  const { gunzipSync } = await import("node:zlib");
  const found = await state.bucket.get(indexKey);
  return found ? gunzipSync(found.body).toString() : "";
}
