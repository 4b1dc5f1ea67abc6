import { LRUCache } from "lru-cache";
import { type Origins, originsIn } from "../origins/origins.ts";
import type { Bucket } from "../world/world.ts";

export interface CachedReaderOptions {
  /** How long a cached object is used without revalidation, in milliseconds. Default 0: revalidate on every read. */
  maxAgeMs?: number;
  /** Bounds of the cache. The least recently used object is dropped first. */
  maxEntries?: number;
  maxCharacters?: number;
}

/**
 * Reads objects as text and caches them, so that a warm function downloads only objects that have changed.
 */
export interface CachedReader {
  /**
   * Reads an object; a cached one is revalidated by its ETag. `now` in epoch milliseconds. Undefined when it
   * does not exist.
   */
  read(key: string, now: number): Promise<string | undefined>;
  /** Whose words the cached version of an object contains, besides the owner's. */
  originsOf(key: string): Origins;
  /**
   * As `read`, for an object whose ETag is known from a listing. Sends no request when that version is
   * cached.
   */
  readListed(key: string, etag: string): Promise<string | undefined>;
  /** Whether that version is cached. */
  holds(key: string, etag: string): boolean;
  /** Caches a version that was read elsewhere. */
  keep(key: string, version: Version): void;
}

/** A version of an object. `origins`: absent if there are none. */
export interface Version {
  etag: string;
  text: string;
  origins?: string[];
}

interface Entry {
  /** Undefined for an object that did not exist. */
  found: Version | undefined;
  checkedAt: number;
}

export function createCachedReader(bucket: Bucket, options: CachedReaderOptions = {}): CachedReader {
  const { maxAgeMs = 0, maxEntries = 500, maxCharacters = 4_000_000 } = options;
  // A short object counts as an entry's share of the characters, which also bounds the number. With `max` the cache would
  // allocate all entries at each cold start.
  const minSize = Math.ceil(maxCharacters / maxEntries);
  const entries = new LRUCache<string, Entry>({
    maxSize: maxCharacters,
    sizeCalculation: ({ found }) => Math.max(minSize, found?.text.length ?? 0),
  });
  const remember = (key: string, entry: Entry) => {
    entries.set(key, entry);
    return entry.found?.text;
  };
  const revalidate = async (key: string, checkedAt: number) => {
    const known = entries.get(key)?.found;
    const object = known ? await bucket.getIfChanged(key, known.etag) : await bucket.get(key);
    if (object === "unchanged") return remember(key, { found: known, checkedAt });
    if (!object) return remember(key, { found: undefined, checkedAt });
    const origins = originsIn(object.metadata);
    const version = { etag: object.etag, text: new TextDecoder().decode(object.body) };
    return remember(key, { found: origins.length === 0 ? version : { ...version, origins }, checkedAt });
  };

  return {
    async read(key, now) {
      const entry = entries.get(key);
      const fresh = entry && now - entry.checkedAt < maxAgeMs;
      return fresh ? entry.found?.text : revalidate(key, now);
    },
    async readListed(key, etag) {
      const found = entries.get(key)?.found;
      return found?.etag === etag ? found.text : revalidate(key, 0);
    },
    originsOf: (key) => entries.peek(key)?.found?.origins ?? [],
    holds: (key, etag) => entries.peek(key)?.found?.etag === etag,
    keep: (key, found) => void remember(key, { found, checkedAt: 0 }),
  };
}

/** Maximum number of cached values; the least recently used one is dropped first. */
const maxKept = 100;

/** Caches values for some time, including reads in progress. Failures are not cached. */
interface CachedReads<Value> {
  /** @param now epoch milliseconds */
  read(name: string, now: number, read: () => Promise<Value>): Promise<Value>;
  /** Clears the cache. */
  clear(): void;
}

/** @param ageMs how long a value is cached, in milliseconds */
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
