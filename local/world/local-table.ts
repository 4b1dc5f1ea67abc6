import type { Item, Key, Table } from "../../shared/world/world.ts";
import { createMemoryStore, type ItemStore } from "../items/item-store.ts";
import { copyOf } from "../items/item-values.ts";
import type { StoredItem } from "../items/keyed-items.ts";
import { changedItem, itemAt, itemsOf, keyOf, rowsOf, type WriteCall } from "../items/table-call.ts";

/** The table over a store of this process, with DynamoDB's semantics. Calls take effect in the order in which they are made. */
export function tableOver(store: ItemStore): Table {
  const write = (call: WriteCall) => store.write(keyOf(call), (before) => changedItem(before, call));
  return {
    async get(key) {
      const item = itemAt(store, key);
      await store.settling(key.pk);
      return item && copyOf(item);
    },
    async put(item, condition) {
      await write({ op: "put", item, condition });
    },
    async update(key, steps, condition) {
      const item = await write({ op: "update", key, steps, condition });
      return copyOf(item as Item);
    },
    delete: (key, condition) => remove(store, key, { op: "delete", key, condition }),
    async query(query) {
      const items = itemsOf(store, query);
      await store.settling(query.pk);
      return copyOf(items);
    },
    queryIndex: async (query) => copyOf(rowsOf(store, query)),
  };
}

/** Deletes an item and returns its previous value. */
async function remove(store: ItemStore, key: Key, call: WriteCall): Promise<Item | undefined> {
  let removed: StoredItem | undefined;
  await store.write(key, (before) => {
    removed = before;
    return changedItem(before, call);
  });
  return removed && copyOf(removed);
}

/** Creates a table in memory, without files. */
export function createMemoryTable(): Table {
  return tableOver(createMemoryStore());
}
