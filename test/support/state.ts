import { createMemoryStore, type ItemStore } from "../../local/items/item-store.ts";
import { openParameters } from "../../local/parameter-store.ts";
import { tableOver } from "../../local/world/local-table.ts";
import { openLocalSecrets } from "../../local/world/local-world.ts";
import { dueItems } from "../../shared/session/due.ts";
import type { Bucket, Item, Secrets, Table } from "../../shared/world/world.ts";
import { createMemoryBucket, type MemoryBucket } from "./memory-bucket.ts";

/** The state of the local world. */
export interface State {
  table: Table;
  bucket: Bucket;
  /** The secrets under a parameter prefix. */
  openSecrets(prefix: string): Secrets;
  close(): Promise<void>;
}

/** A state in memory. It needs no closing. */
export interface MemoryState extends State {
  /** The bucket itself, which allows every call and records it. */
  objects: MemoryBucket;
  /** Every item of the table. */
  items(): Item[];
  /** Another state with the same items, objects and secrets. */
  copy(): MemoryState;
}

/** Allows or refuses a call by its IAM action on AWS, such as `dynamodb:GetItem`. */
export type Allow = (action: string) => boolean | Promise<boolean>;

/**
 * The table and the bucket, which satisfy the contracts in test/world, and the secrets. All are in memory, because
 * thousands of tests need a state and files are slow.
 * @param allow called before each call to the table and the bucket; a refused call fails with AccessDenied
 */
export async function startState(allow?: Allow): Promise<MemoryState> {
  const file = { value: { parameters: {} }, save: async () => {}, settled: async () => {} };
  const parameters = openParameters(file);
  const openSecrets = (prefix: string) => openLocalSecrets(parameters, prefix);
  const stateOver = (store: ItemStore, objects: MemoryBucket): MemoryState => {
    const table = tableOver(store);
    return {
      table: allow ? guarded(table, tableActions, allow) : table,
      bucket: allow ? guarded<Bucket>(objects, bucketActions, allow) : objects,
      objects,
      openSecrets,
      items: () => [...store.all()] as Item[],
      copy: () => stateOver(createMemoryStore(store.all()), objects.copy()),
      close: async () => {},
    };
  };
  return stateOver(createMemoryStore(), createMemoryBucket());
}

const tableActions: Record<keyof Table, string> = {
  get: "dynamodb:GetItem",
  put: "dynamodb:PutItem",
  update: "dynamodb:UpdateItem",
  delete: "dynamodb:DeleteItem",
  query: "dynamodb:Query",
  queryIndex: "dynamodb:Query",
};

const bucketActions: Record<keyof Bucket, string> = {
  get: "s3:GetObject",
  getIfChanged: "s3:GetObject",
  head: "s3:GetObject",
  getStream: "s3:GetObject",
  put: "s3:PutObject",
  putStream: "s3:PutObject",
  delete: "s3:DeleteObject",
  list: "s3:ListBucket",
};

/** The same methods; a call that is not allowed fails. */
function guarded<T extends object>(of: T, actions: Record<keyof T, string>, allow: Allow): T {
  return new Proxy(of, {
    get(target, method: string & keyof T) {
      const call = target[method] as (...args: unknown[]) => unknown;
      return async (...args: unknown[]) => {
        const action = actions[method];
        if (await allow(action)) return call.apply(target, args);
        throw Object.assign(new Error(`${action} is refused`), { name: "AccessDenied" });
      };
    },
  });
}

/** A table that counts its reads and runs `before` ahead of each write, to simulate concurrent writes. */
export function observed(
  table: Table,
  before: () => Promise<void> = async () => {},
): Table & { reads: number } {
  const watched = {
    ...table,
    reads: 0,
    get: (...args: Parameters<Table["get"]>) => {
      watched.reads++;
      return table.get(...args);
    },
    update: async (...args: Parameters<Table["update"]>) => {
      await before();
      return table.update(...args);
    },
  };
  return watched;
}

/** The partition keys of the items that a sweep would check, oldest first. */
export async function duePks(table: Table, now: number): Promise<string[]> {
  const pks: string[] = [];
  for await (const page of dueItems(table, now)) pks.push(...page.map(({ pk }) => pk));
  return pks;
}
