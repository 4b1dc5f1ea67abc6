/** What the page keeps on this device, by kind. `settings`: token and choices; `outbox`: unsent messages; `history`: the last messages of sessions. */
export type StoreName = "settings" | "outbox" | "history";

/** Storage of this device. Keys sort in the order of their code units. */
export interface PageStore {
  get<T>(store: StoreName, key: string): Promise<T | undefined>;
  put(store: StoreName, key: string, value: unknown): Promise<void>;
  delete(store: StoreName, key: string): Promise<void>;
  /** All values, in the order of their keys. */
  all<T>(store: StoreName): Promise<T[]>;
  /** Deletes everything. */
  clear(): Promise<void>;
}

/** Opens IndexedDB. Where a browser refuses it (a private window), everything is kept until the page is closed. */
export async function openPageStore(): Promise<PageStore> {
  const database = await openDatabase().catch(() => undefined);
  return database ? databaseStore(database) : memoryStore();
}

const names: readonly StoreName[] = ["settings", "outbox", "history"];

function openDatabase(): Promise<IDBDatabase> {
  const opening = indexedDB.open("gsv", 1);
  opening.onupgradeneeded = () => {
    for (const name of names) opening.result.createObjectStore(name);
  };
  return done(opening);
}

function databaseStore(database: IDBDatabase): PageStore {
  const read = (name: StoreName) => database.transaction(name).objectStore(name);
  const write = async (name: StoreName, change: (store: IDBObjectStore) => void) => {
    const transaction = database.transaction(name, "readwrite");
    change(transaction.objectStore(name));
    await new Promise<void>((resolve, reject) => {
      transaction.oncomplete = () => resolve();
      transaction.onabort = () => reject(transaction.error);
    });
  };
  return {
    get: (name, key) => done(read(name).get(key)),
    put: (name, key, value) => write(name, (store) => store.put(value, key)),
    delete: (name, key) => write(name, (store) => store.delete(key)),
    all: (name) => done(read(name).getAll()),
    clear: async () => {
      for (const name of names) await write(name, (store) => store.clear());
    },
  };
}

/** A store that ends with the page. */
export function memoryStore(): PageStore {
  const stores: Record<StoreName, Map<string, unknown>> = {
    settings: new Map(),
    outbox: new Map(),
    history: new Map(),
  };
  return {
    get: async <T>(name: StoreName, key: string) => stores[name].get(key) as T | undefined,
    put: async (name, key, value) => void stores[name].set(key, value),
    delete: async (name, key) => void stores[name].delete(key),
    all: async <T>(name: StoreName) =>
      [...stores[name].entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, value]) => value as T),
    clear: async () => {
      for (const name of names) stores[name].clear();
    },
  };
}

function done<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
