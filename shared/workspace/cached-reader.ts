import type { Bucket } from "../world/world.ts";

export interface CachedReaderOptions {
  /** For this long an answer is taken as still true without asking. 0, the default: ask every time. */
  maxAgeMs?: number;
  /** Bounds of what is remembered; what was used longest ago goes first. */
  maxEntries?: number;
  maxCharacters?: number;
}

/** Reads objects as text and remembers them, so that a warm function downloads only what has changed. */
export interface CachedReader {
  /** Asks whether the object has changed since it was read. `now` in epoch milliseconds. Undefined: no such object. */
  read(key: string, now: number): Promise<string | undefined>;
  /** As `read`, for an object whose ETag a listing has just told: without a request when that version is remembered. */
  readListed(key: string, etag: string): Promise<string | undefined>;
}

interface Entry {
  /** Undefined for what is remembered as not there. */
  found: { etag: string; text: string } | undefined;
  checkedAt: number;
}

export function createCachedReader(bucket: Bucket, options: CachedReaderOptions = {}): CachedReader {
  const { maxAgeMs = 0, maxEntries = 500, maxCharacters = 4_000_000 } = options;
  const entries = new Map<string, Entry>();
  let characters = 0;

  const forget = (key: string) => {
    characters -= entries.get(key)?.found?.text.length ?? 0;
    entries.delete(key);
  };
  const remember = (key: string, entry: Entry) => {
    forget(key);
    entries.set(key, entry);
    characters += entry.found?.text.length ?? 0;
    for (const oldest of entries.keys()) {
      if (entries.size <= maxEntries && characters <= maxCharacters) break;
      forget(oldest);
    }
    return entry.found?.text;
  };
  const revalidate = async (key: string, checkedAt: number) => {
    const known = entries.get(key)?.found;
    const object = known ? await bucket.getIfChanged(key, known.etag) : await bucket.get(key);
    if (object === "unchanged") return remember(key, { found: known, checkedAt });
    const found = object && { etag: object.etag, text: new TextDecoder().decode(object.body) };
    return remember(key, { found, checkedAt });
  };

  return {
    async read(key, now) {
      const entry = entries.get(key);
      const fresh = entry && now - entry.checkedAt < maxAgeMs;
      return fresh ? remember(key, entry) : revalidate(key, now);
    },
    async readListed(key, etag) {
      const entry = entries.get(key);
      return entry?.found?.etag === etag ? remember(key, entry) : revalidate(key, 0);
    },
  };
}
