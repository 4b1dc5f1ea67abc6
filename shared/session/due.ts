import { createHash } from "node:crypto";
import { remove, type Step, set, setIfAbsent } from "../world/expression.ts";
import type { IndexQuery, Item, ItemValue, Key, Table } from "../world/world.ts";

/** The index of sessions by last activity, and that of items with work or a deadline. */
const partitions = { list: "SESSION", due: "DUE" } as const;

/**
 * Shards of each index. DynamoDB accepts about 1,000 writes a second in one partition, and a throttled index throttles its
 * table. So rows are spread by the key of their item.
 */
const shards = 16;

/** An index with fewer rows is read in one call, whatever their time. */
const fewRows = 100;

const pageRows = 200;

/** The attributes that list an item as due. @param at when the sweep handles it, epoch ms */
export const dueFields = (key: Key, at: number) => ({ duePk: partitionOf("due", key), dueAt: at });

/** The attributes that list a session. @param at its last activity, epoch ms */
export const listFields = (key: Key, at: number) => ({ listPk: partitionOf("list", key), listSk: at });

export const dueSteps = (key: Key, at: number): Step[] => stepsOf(set, dueFields(key, at));

/** Steps that keep an earlier time. */
export const dueStepsIfAbsent = (key: Key, at: number): Step[] => stepsOf(setIfAbsent, dueFields(key, at));

export const notDueSteps: readonly Step[] = [remove("duePk"), remove("dueAt")];

export const listSteps = (key: Key, at: number): Step[] => stepsOf(set, listFields(key, at));

/** Pages of the items that are due, each oldest first. An item that is written meanwhile may be missing or come twice. */
export async function* dueItems(table: Table, now: number): AsyncGenerator<Key[]> {
  const index = "due";
  const some = await table.queryIndex({ index, limit: fewRows });
  if (some.length < fewRows) return yield keysOf(some.filter(({ dueAt }) => Number(dueAt) <= now));
  let unread: { pk: string; after?: Item }[] = partitionsOf(index).map((pk) => ({ pk }));
  while (unread.length > 0) {
    const read = unread.map((part) => table.queryIndex({ index, upTo: now, limit: pageRows, ...part }));
    const pages = await Promise.all(read);
    yield keysOf(pages.flat());
    unread = unread.flatMap(({ pk }, part) => {
      const after = pages[part]?.[pageRows - 1];
      return after ? [{ pk, after }] : [];
    });
  }
}

/** The rows of the newest sessions, by last activity, newest first; of all of them without a limit. */
export async function newestSessions(table: Table, limit?: number): Promise<Item[]> {
  const read = partitionsOf("list").map((pk) =>
    table.queryIndex({ index: "list", pk, descending: true, ...(limit === undefined ? {} : { limit }) }),
  );
  const rows = (await Promise.all(read)).flat();
  return rows.sort((a, b) => Number(b.listSk) - Number(a.listSk)).slice(0, limit);
}

function keysOf(rows: Item[]): Key[] {
  return rows
    .sort((a, b) => Number(a.dueAt) - Number(b.dueAt))
    .map(({ pk, sk }) => ({ pk: String(pk), sk: String(sk) }));
}

function partitionOf(index: IndexQuery["index"], { pk, sk }: Key): string {
  const [first = 0] = createHash("sha256").update(`${pk}\n${sk}`).digest();
  return `${partitions[index]}#${first % shards}`;
}

/** All shards, and the one partition of earlier versions, whose items move to a shard as they are written. */
function partitionsOf(index: IndexQuery["index"]): string[] {
  const name = partitions[index];
  return [name, ...Array.from({ length: shards }, (_, shard) => `${name}#${shard}`)];
}

function stepsOf(step: (path: string, value: ItemValue) => Step, fields: Record<string, ItemValue>): Step[] {
  return Object.entries(fields).map(([name, value]) => step(name, value));
}
