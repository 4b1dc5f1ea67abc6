import { beforeEach, expect, it } from "vitest";
import { createHistory, type History } from "../../../functions/agent/context/history.ts";
import { createMemoryTable } from "../../../local/world/local-table.ts";
import { newSession } from "../../../shared/session/state.ts";
import { writeMessages } from "../../../shared/session/transcript.ts";
import type { Table } from "../../../shared/world/world.ts";
import { createMemoryBucket } from "../../support/memory-bucket.ts";
import { user } from "../compaction/transcripts.ts";

const keyOf = (name: string) => `agent:main:${name}`;
const state = (name: string, head = 1) => ({ ...newSession(keyOf(name), "id", 1), head });

let queries: number;
let write: (name: string, seq: number, length: number) => Promise<void>;
let historyOf: (mostCharacters: number) => History;
beforeEach(() => {
  queries = 0;
  const table = createMemoryTable();
  const store = { table, bucket: createMemoryBucket() };
  const counted: Table = { ...table, query: (query) => table.query(query).finally(() => queries++) };
  write = (name, seq, length) =>
    writeMessages(store, { sessionKey: keyOf(name), epoch: 1 }, "id", seq, [user("x".repeat(length))]);
  historyOf = (mostCharacters) => createHistory({ ...store, table: counted }, mostCharacters);
});

it("a warm function reads a conversation once", async () => {
  await write("a", 1, 1000);
  const history = historyOf(10_000);
  const first = await history.load(state("a"));
  expect(await history.load(state("a"))).toEqual(first);
  expect(queries).toBe(1);
});

it("the least recently used conversation is read again when the cache is full", async () => {
  for (const name of ["a", "b", "c"]) await write(name, 1, 1000);
  const history = historyOf(2500);
  for (const name of ["a", "b", "a", "c"]) await history.load(state(name));
  expect(queries).toBe(3);
  await history.load(state("a"));
  expect(queries).toBe(3);
  await history.load(state("b"));
  expect(queries).toBe(4);
});

it("a conversation that is larger than the cache is still read whole", async () => {
  const history = historyOf(2500);
  await write("a", 1, 2000);
  await write("a", 2, 2000);
  expect(await history.load(state("a", 2))).toHaveLength(2);
  history.extend(state("a", 3), [user("more")]);
  await write("a", 3, 2000);
  expect((await history.load(state("a", 3))).map(({ content }) => content.length)).toEqual([
    2000, 2000, 2000,
  ]);
});
