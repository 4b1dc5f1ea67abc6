import type { Condition, Step } from "../../shared/world/expression.ts";
import {
  ConditionFailed,
  type IndexQuery,
  type Item,
  type ItemValue,
  type Key,
  type Query,
  type Table,
} from "../../shared/world/world.ts";
import { holds, isMap, orderOf } from "./memory-table-condition.ts";
import { applySteps, ValidationException } from "./memory-table-update.ts";

/** One request to the table, as a value. */
export type TableCall =
  | { op: "get"; key: Key }
  | { op: "put"; item: Item & Key; condition?: Condition }
  | { op: "update"; key: Key; steps: readonly Step[]; condition?: Condition }
  | { op: "delete"; key: Key; condition?: Condition }
  | { op: "query"; query: Query }
  | { op: "queryIndex"; query: IndexQuery };

/** Items by `itemName`. Items in it are never changed, only replaced. */
export interface ItemStore {
  get(name: string): Item | undefined;
  set(name: string, item: Item): unknown;
  delete(name: string): unknown;
  values(): Iterable<Item>;
}

const maxItemBytes = 400 * 1024;

const indexes = {
  list: { pk: "listPk", sk: "listSk", also: ["sessionKey", "createdAt", "lastActiveAt", "label"] },
  due: { pk: "duePk", sk: "dueAt", also: [] },
} as const;

export function itemName({ pk, sk }: Key): string {
  return `${pk}\n${sk}`;
}

/** A table in memory with DynamoDB's semantics. Calls take effect in the order in which they are made. */
export function createMemoryTable(store: ItemStore = new Map<string, Item>()): Table {
  const call = async (request: TableCall) => structuredClone(performCall(store, request));
  return {
    get: (key) => call({ op: "get", key }) as Promise<Item | undefined>,
    put: (item, condition) => call({ op: "put", item, condition }) as Promise<void>,
    update: (key, steps, condition) => call({ op: "update", key, steps, condition }) as Promise<Item>,
    delete: (key, condition) => call({ op: "delete", key, condition }) as Promise<Item | undefined>,
    query: (query) => call({ op: "query", query }) as Promise<Item[]>,
    queryIndex: (query) => call({ op: "queryIndex", query }) as Promise<Item[]>,
  };
}

/**
 * Carries out one request. What it returns belongs to the store and must not be changed.
 * @throws ConditionFailed, ValidationException; nothing was written then
 */
export function performCall(store: ItemStore, call: TableCall): Item | Item[] | undefined {
  switch (call.op) {
    case "get":
      return store.get(itemName(checkedKey(call.key)));
    case "put":
      write(store, call.item, () => call.item, call.condition);
      return undefined;
    case "update":
      return write(store, call.key, (before) => update(before, call.key, call.steps), call.condition);
    case "delete": {
      const before = store.get(itemName(checkedKey(call.key)));
      if (call.condition && !holds(before ?? {}, call.condition)) throw new ConditionFailed();
      store.delete(itemName(call.key));
      return before;
    }
    case "query":
      return query(store, call.query);
    case "queryIndex":
      return queryIndex(store, call.query);
  }
}

function write(
  store: ItemStore,
  key: Key,
  next: (before: Item | undefined) => Item,
  condition: Condition | undefined,
): Item {
  checkedKey(key);
  const before = store.get(itemName(key));
  if (condition && !holds(before ?? {}, condition)) throw new ConditionFailed();
  const item = storable(next(before)) as Item;
  if (itemSize(item) > maxItemBytes) {
    throw new ValidationException("Item size has exceeded the maximum allowed size");
  }
  for (const { pk, sk } of Object.values(indexes)) {
    const isFit = (value: ItemValue | undefined, type: string) =>
      value === undefined || (typeof value === type && value !== "");
    if (isFit(item[pk], "string") && isFit(item[sk], "number")) continue;
    throw new ValidationException(
      `One or more parameter values are not valid for the index key ${pk}, ${sk}`,
    );
  }
  store.set(itemName(key), item);
  return item;
}

function update(before: Item | undefined, { pk, sk }: Key, steps: readonly Step[]): Item {
  for (const { path } of steps) {
    const name = typeof path === "string" ? path : path[0];
    if (name !== "pk" && name !== "sk") continue;
    throw new ValidationException(`Cannot update attribute ${name}. This attribute is part of the key`);
  }
  return applySteps(before ?? { pk, sk }, steps);
}

function checkedKey(key: Key): Key {
  if (typeof key.pk === "string" && key.pk !== "" && typeof key.sk === "string" && key.sk !== "") return key;
  throw new ValidationException("One or more parameter values are not valid: a key attribute is empty");
}

function query(store: ItemStore, { pk, prefix, from, to, limit, descending }: Query): Item[] {
  if (from !== undefined && to !== undefined && orderOf(from, to) > 0) {
    throw new ValidationException("The BETWEEN operator requires upper bound to be greater than lower bound");
  }
  const found = [...store.values()].filter((item) => {
    if (item.pk !== pk) return false;
    const sk = String(item.sk);
    if (prefix !== undefined) return sk.startsWith(prefix);
    return (from === undefined || orderOf(sk, from) >= 0) && (to === undefined || orderOf(sk, to) <= 0);
  });
  return firstOf(found, "sk", limit, descending);
}

function queryIndex(store: ItemStore, { index, pk, upTo, limit, descending }: IndexQuery): Item[] {
  const names = indexes[index];
  const found = [...store.values()].filter((item) => {
    const at = item[names.sk];
    return item[names.pk] === pk && at !== undefined && (upTo === undefined || Number(at) <= upTo);
  });
  const kept = ["pk", "sk", names.pk, names.sk, ...names.also];
  return firstOf(found, names.sk, limit, descending).map((item) =>
    Object.fromEntries(Object.entries(item).filter(([name]) => kept.includes(name))),
  );
}

function firstOf(items: Item[], by: string, limit: number | undefined, descending = false): Item[] {
  const sign = descending ? -1 : 1;
  const sorted = items.sort((a, b) => sign * orderOf(a[by] as string | number, b[by] as string | number));
  return limit === undefined ? sorted : sorted.slice(0, limit);
}

/** The value as it is stored: a copy, without what is undefined. */
function storable(value: ItemValue): ItemValue {
  if (typeof value === "number" && !Number.isFinite(value)) throw new Error(`${value} cannot be stored`);
  if (Array.isArray(value)) return value.filter((one) => one !== undefined).map(storable);
  if (!isMap(value)) return value;
  const fields = Object.entries(value).flatMap(([name, field]) =>
    field === undefined ? [] : [[name, storable(field)] as const],
  );
  return Object.fromEntries(fields);
}

/** Bytes that an item counts for: names and values in UTF-8. */
function itemSize(item: Item): number {
  const sizes = Object.entries(item).map(([name, value]) => Buffer.byteLength(name) + sizeOf(value));
  return sizes.reduce((sum, size) => sum + size, 0);
}

function sizeOf(value: ItemValue): number {
  if (typeof value === "string") return Buffer.byteLength(value);
  if (typeof value === "number") return 1 + Math.ceil(String(Math.abs(value)).replace(".", "").length / 2);
  if (typeof value === "boolean" || value === null) return 1;
  if (Array.isArray(value)) return value.reduce<number>((sum, one) => sum + 1 + sizeOf(one), 3);
  return 3 + Object.keys(value).length + itemSize(value as Item);
}
