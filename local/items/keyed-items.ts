import type { Item, Key } from "../../shared/world/world.ts";
import { SortedList } from "./sorted-list.ts";
import { compareText } from "./text-order.ts";

/** An item with its key. */
export type StoredItem = Item & Key;

export type IndexName = "list" | "due";

/** The sparse indexes: their key attributes, and their projected attributes besides both keys. */
export const tableIndexes = {
  list: { pk: "listPk", sk: "listSk", also: ["sessionKey", "createdAt", "lastActiveAt", "label"] },
  due: { pk: "duePk", sk: "dueAt", also: [] },
} as const;

/** Part of one partition, in the order of the sort key's UTF-8 bytes. */
export interface Range {
  pk: string;
  /** Only sort keys that start so. */
  prefix?: string;
  /** Only sort keys from here (inclusive) … */
  from?: string;
  /** … to here (inclusive). */
  to?: string;
  /** Only sort keys after this one in reading direction; the last key of the previous page. */
  after?: string;
  descending?: boolean;
}

/** Part of one partition of an index, in the order of its number; equal numbers in the order of the table's key. */
export interface IndexRange {
  index: IndexName;
  /** Absent: the rows of all partitions. */
  pk?: string;
  /** Only numbers from here (inclusive) … */
  from?: number;
  /** … to here (inclusive). */
  upTo?: number;
  /** Only rows after this one in reading direction; the last row of the previous page. */
  after?: Key & { at: number };
  descending?: boolean;
}

type Order<T> = (value: T) => number;

/** Items by key and by index, in memory. Every operation on one of n items takes about log n steps. */
export class KeyedItems {
  private readonly partitions = new Map<string, SortedList<StoredItem>>();
  private readonly indexed: Record<IndexName, Map<string, SortedList<StoredItem>>> = {
    list: new Map(),
    due: new Map(),
  };

  get({ pk, sk }: Key): StoredItem | undefined {
    const found = this.partitions.get(pk)?.first((item) => compareText(item.sk, sk) < 0);
    return found?.sk === sk ? found : undefined;
  }

  range({ pk, prefix, from, to, after, descending = false }: Range): Iterable<StoredItem> {
    const lower = prefix ?? from;
    const bounds: Order<StoredItem>[] = [];
    if (lower !== undefined) bounds.push((item) => Math.min(compareText(item.sk, lower), 0));
    if (prefix !== undefined)
      bounds.push((item) => (item.sk.startsWith(prefix) ? 0 : compareText(item.sk, prefix)));
    if (to !== undefined && prefix === undefined)
      bounds.push((item) => Math.max(compareText(item.sk, to), 0));
    if (after !== undefined) bounds.push(beyond((item) => compareText(item.sk, after), descending));
    return within(this.partitions.get(pk), bounds, descending);
  }

  indexRange({ index, pk, from, upTo, after, descending = false }: IndexRange): Iterable<StoredItem> {
    const { sk } = tableIndexes[index];
    const at = (item: StoredItem) => item[sk] as number;
    const bounds: Order<StoredItem>[] = [];
    if (from !== undefined) bounds.push((item) => Math.min(at(item) - from, 0));
    if (upTo !== undefined) bounds.push((item) => Math.max(at(item) - upTo, 0));
    if (after !== undefined) {
      bounds.push(beyond((item) => at(item) - after.at || compareKeys(item, after), descending));
    }
    if (pk === undefined) return this.allRows(index);
    return within(this.indexed[index].get(pk), bounds, descending);
  }

  private *allRows(index: IndexName): Generator<StoredItem> {
    for (const rows of this.indexed[index].values()) yield* rows.upwards();
  }

  /** Partition keys in no particular order. Partitions created or removed meanwhile may be missing. */
  partitionKeys(): Iterable<string> {
    return this.partitions.keys();
  }

  /** All items; each partition in its order. */
  *all(): Generator<StoredItem> {
    for (const items of this.partitions.values()) yield* items.upwards();
  }

  put(item: StoredItem): void {
    this.replaceRows(listOf(this.partitions, item.pk, compareSortKeys).set(item), item);
  }

  delete({ pk, sk }: Key): void {
    this.replaceRows(removeFrom(this.partitions, pk, { pk, sk }), undefined);
  }

  private replaceRows(before: StoredItem | undefined, after: StoredItem | undefined): void {
    for (const name of indexNames) this.replaceRow(name, before, after);
  }

  private replaceRow(name: IndexName, before: StoredItem | undefined, after: StoredItem | undefined): void {
    const { pk, sk } = tableIndexes[name];
    const old = before && isRow(before, name) ? before : undefined;
    const row = after && isRow(after, name) ? after : undefined;
    const moved = old !== undefined && (row === undefined || old[pk] !== row[pk] || old[sk] !== row[sk]);
    if (moved) removeFrom(this.indexed[name], String(old[pk]), old);
    if (row) listOf(this.indexed[name], String(row[pk]), rowOrders[name]).set(row);
  }
}

export const indexNames = ["list", "due"] as const satisfies readonly IndexName[];

const rowOrders: Record<IndexName, (a: StoredItem, b: StoredItem) => number> = {
  list: (a, b) => Number(a.listSk) - Number(b.listSk) || compareKeys(a, b),
  due: (a, b) => Number(a.dueAt) - Number(b.dueAt) || compareKeys(a, b),
};

/** Reduces an item to the attributes of an index. */
export function projected(index: IndexName, item: StoredItem): StoredItem {
  const { pk, sk, also } = tableIndexes[index];
  const row: StoredItem = { pk: item.pk, sk: item.sk };
  for (const name of [pk, sk, ...also]) {
    const value = item[name];
    if (value !== undefined) row[name] = value;
  }
  return row;
}

/** The row that an index holds of an item; undefined when the item is not in the index. */
export function indexRow(index: IndexName, item: StoredItem | undefined): StoredItem | undefined {
  return item && isRow(item, index) ? projected(index, item) : undefined;
}

/** Whether an item is in the index: it is sparse. */
function isRow(item: StoredItem, name: IndexName): boolean {
  const { pk, sk } = tableIndexes[name];
  return item[pk] !== undefined && item[sk] !== undefined;
}

function compareSortKeys(a: StoredItem, b: StoredItem): number {
  return compareText(a.sk, b.sk);
}

function compareKeys(a: Key, b: Key): number {
  return compareText(a.pk, b.pk) || compareText(a.sk, b.sk);
}

/** The list of a partition, which is made when there is none. */
function listOf(
  partitions: Map<string, SortedList<StoredItem>>,
  pk: string,
  compare: (a: StoredItem, b: StoredItem) => number,
): SortedList<StoredItem> {
  let items = partitions.get(pk);
  if (items === undefined) {
    items = new SortedList(compare);
    partitions.set(pk, items);
  }
  return items;
}

/** Removes an item from its partition, and the partition with its last item. */
function removeFrom(
  partitions: Map<string, SortedList<StoredItem>>,
  pk: string,
  item: StoredItem,
): StoredItem | undefined {
  const items = partitions.get(pk);
  const removed = items?.delete(item);
  if (items?.isEmpty) partitions.delete(pk);
  return removed;
}

/** An exclusive bound: an item equal to the position counts as before it, in reading direction. */
function beyond(order: Order<StoredItem>, descending: boolean): Order<StoredItem> {
  return descending ? (item) => (order(item) < 0 ? 0 : 1) : (item) => (order(item) > 0 ? 0 : -1);
}

/** @param bounds for each item: negative before the range, 0 in it, positive behind it */
function* within(
  items: SortedList<StoredItem> | undefined,
  bounds: readonly Order<StoredItem>[],
  descending: boolean,
): Generator<StoredItem> {
  if (items === undefined) return;
  const isBefore = (item: StoredItem) => bounds.some((bound) => bound(item) < 0);
  const isBehind = (item: StoredItem) => bounds.some((bound) => bound(item) > 0);
  if (descending) {
    for (const item of items.downwards((one) => !isBehind(one))) {
      if (isBefore(item)) return;
      yield item;
    }
    return;
  }
  for (const item of items.upwards(isBefore)) {
    if (isBehind(item)) return;
    yield item;
  }
}
