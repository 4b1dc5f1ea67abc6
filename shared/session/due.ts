import { remove, type Step, set, setIfAbsent } from "../world/expression.ts";
import type { IndexQuery, Item, ItemValue, Key, Table } from "../world/world.ts";

/** The index of sessions by last activity, and that of items with work or a deadline. */
const partitions = { list: "SESSION", due: "DUE" } as const;

/** The attributes that list an item as due. @param at when the sweep handles it, epoch ms */
export const dueFields = (key: Key, at: number) => ({ duePk: partitionOf("due", key), dueAt: at });

/** The attributes that list a session. @param at its last activity, epoch ms */
export const listFields = (key: Key, at: number) => ({ listPk: partitionOf("list", key), listSk: at });

export const dueSteps = (key: Key, at: number): Step[] => stepsOf(set, dueFields(key, at));

/** Steps that keep an earlier time. */
export const dueStepsIfAbsent = (key: Key, at: number): Step[] => stepsOf(setIfAbsent, dueFields(key, at));

export const notDueSteps: readonly Step[] = [remove("duePk"), remove("dueAt")];

export const listSteps = (key: Key, at: number): Step[] => stepsOf(set, listFields(key, at));

/** The rows of an index in the order of its sort key. */
export const readIndex = (table: Table, query: Omit<IndexQuery, "pk">): Promise<Item[]> =>
  table.queryIndex({ ...query, pk: partitions[query.index] });

const partitionOf = (index: IndexQuery["index"], _key: Key): string => partitions[index];

function stepsOf(step: (path: string, value: ItemValue) => Step, fields: Record<string, ItemValue>): Step[] {
  return Object.entries(fields).map(([name, value]) => step(name, value));
}
