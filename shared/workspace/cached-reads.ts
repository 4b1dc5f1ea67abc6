import { LRUCache } from "lru-cache";

/** Maximum number of values that are kept; the least recently used one is dropped first. */
const maxKept = 100;

/** Keeps what was read for some time, also while it is still being read. A failure is not kept. */
export interface CachedReads<Value> {
  /** @param now epoch milliseconds */
  read(name: string, now: number, read: () => Promise<Value>): Promise<Value>;
  /** Forgets everything that is kept. */
  clear(): void;
}

/** @param ageMs time for which a value is kept, in milliseconds */
export function cacheReads<Value>(ageMs: number): CachedReads<Value> {
  const kept = new LRUCache<string, { value: Promise<Value>; readAt: number }>({ max: maxKept });
  return {
    read(name, now, read) {
      const known = kept.get(name);
      if (known && now - known.readAt < ageMs) return known.value;
      const value = read();
      const entry = { value, readAt: now };
      kept.set(name, entry);
      value.catch(() => {
        if (kept.get(name) === entry) kept.delete(name);
      });
      return value;
    },
    clear: () => kept.clear(),
  };
}
