import type { Key } from "../../shared/world/world.ts";
import { checkItem, checkKey } from "./item-validation.ts";
import { type IndexRange, KeyedItems, type Range, type StoredItem } from "./keyed-items.ts";

/** Reads of the table's items. What they return belongs to the store and must not be changed. */
export interface ItemReader {
  get(key: Key): StoredItem | undefined;
  /** To be read in one go: the range must not be read on after something else was awaited. */
  range(range: Range): Iterable<StoredItem>;
  /** Whole items, in the index's order; `projected` cuts one to what the index holds. As `range`, read in one go. */
  indexRange(range: IndexRange): Iterable<StoredItem>;
}

/**
 * The item that takes the place of another. Undefined: there is none (any more). The same object: nothing is written.
 * A new item belongs to the store from then on and must not be changed; it may share parts with the one before.
 */
export type Change = (before: StoredItem | undefined) => StoredItem | undefined;

/**
 * The table's items, by key. Items in it are never changed, only replaced. Reads and changes are made in memory at
 * once; only durability is waited for.
 */
export interface ItemStore extends ItemReader {
  all(): Iterable<StoredItem>;
  /**
   * Replaces an item. `change` is called once, before `write` returns, so changes take effect in the order of the
   * calls. What `change` throws rejects the promise, and nothing is written.
   * @returns the item that is stored now, once it is durable
   * @throws ValidationException for a key or an item that DynamoDB would not take; DiskFullError; nothing was written then
   */
  write(key: Key, change: Change): Promise<StoredItem | undefined>;
  /**
   * Resolves when everything that `get` and `range` show of a partition is durable; undefined when it is already. An
   * answer that may leave this process waits for it.
   */
  settling(pk: string): Promise<void> | undefined;
  /** Resolves when everything is durable and the folder may be used by another. */
  close(): Promise<void>;
}

/** Items in memory alone. */
export function createMemoryStore(items: Iterable<StoredItem> = []): ItemStore {
  const keyed = new KeyedItems();
  for (const item of items) keyed.put(item);
  return {
    get: (key) => keyed.get(key),
    range: (range) => keyed.range(range),
    indexRange: (range) => keyed.indexRange(range),
    all: () => keyed.all(),
    async write(key, change) {
      const { before, after } = checkedChange(keyed, key, change);
      if (after === undefined) keyed.delete(key);
      else if (after !== before) keyed.put(after);
      return after;
    },
    settling: () => undefined,
    close: async () => {},
  };
}

/** Works out a change and checks what it makes. @throws ValidationException, what `change` throws */
export function checkedChange(items: Pick<ItemReader, "get">, key: Key, change: Change) {
  checkKey(key);
  const before = items.get(key);
  const after = change(before);
  if (after !== undefined && after !== before) checkItem(after);
  return { before, after };
}
