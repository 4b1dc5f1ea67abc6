import type { Key } from "../../shared/world/world.ts";
import { checkItem, checkKey } from "./item-validation.ts";
import { type IndexRange, KeyedItems, type Range, type StoredItem } from "./keyed-items.ts";

/** Reads of the table's items. The returned objects belong to the store and must not be modified. */
export interface ItemReader {
  get(key: Key): StoredItem | undefined;
  /** Must be iterated synchronously: do not continue after an `await`. */
  range(range: Range): Iterable<StoredItem>;
  /**
   * Complete items in index order; `projected` reduces one to the index's attributes. Iterate synchronously.
   */
  indexRange(range: IndexRange): Iterable<StoredItem>;
}

/**
 * Computes the new item from the old one. Undefined deletes the item; the same object writes nothing. The
 * store owns a new item: it must not be modified later. It may share parts with the old item.
 */
export type Change = (before: StoredItem | undefined) => StoredItem | undefined;

/**
 * The table's items, by key. Stored items are immutable and are replaced as a whole. Reads and changes happen
 * synchronously in memory; promises only wait for durability.
 */
export interface ItemStore extends ItemReader {
  all(): Iterable<StoredItem>;
  /**
   * Replaces an item. `change` is called once, before `write` returns, so changes apply in call order. When
   * `change` throws, the promise rejects and nothing is written.
   * @returns the item that is stored now, once it is durable
   * @throws ValidationException for a key or an item that DynamoDB would not take; DiskFullError; nothing was
   *   written then
   */
  write(key: Key, change: Change): Promise<StoredItem | undefined>;
  /**
   * Resolves when all visible items of a partition are durable. Undefined when they already are. Await it
   * before returning data of the partition to a caller.
   */
  settling(pk: string): Promise<void> | undefined;
  /** Resolves when all changes are durable and the folder is unlocked. */
  close(): Promise<void>;
}

/** Creates a store in memory, without files. */
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

/** Computes a change and validates the new item. @throws ValidationException and the errors of `change` */
export function checkedChange(items: Pick<ItemReader, "get">, key: Key, change: Change) {
  checkKey(key);
  const before = items.get(key);
  const after = change(before);
  if (after !== undefined && after !== before) checkItem(after);
  return { before, after };
}
