import { LRUCache } from "lru-cache";
import type { Bucket } from "../../../shared/world/world.ts";

/** Bound of a warm function's cached media, in bytes of base64: 50 MB. */
const defaultBudget = 50 * 1024 * 1024;

/** Reads media for the model, and caches the most recently used ones while the function is warm. */
export interface MediaCache {
  /** The object as base64; undefined when it does not exist. */
  load(r2Key: string): Promise<string | undefined>;
}

/** The cache never goes stale: a key is never overwritten with other bytes. */
export function createMediaCache(bucket: Pick<Bucket, "get">, budget = defaultBudget): MediaCache {
  const kept = new LRUCache<string, string>({
    maxSize: budget,
    // The cache refuses a size of 0.
    sizeCalculation: (data) => Math.max(1, data.length),
  });
  return {
    async load(r2Key) {
      const known = kept.get(r2Key);
      if (known !== undefined) return known;
      const object = await bucket.get(r2Key);
      if (!object) return undefined;
      const data = Buffer.from(object.body).toString("base64");
      kept.set(r2Key, data);
      return data;
    },
  };
}
