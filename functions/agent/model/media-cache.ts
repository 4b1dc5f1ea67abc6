import type { Bucket } from "../../../shared/world/world.ts";

/** What a warm function keeps of media, in bytes of base64: 50 MB. */
const defaultBudget = 50 * 1024 * 1024;

/** Reads media for the model, and keeps what was used last while the function is warm. */
export interface MediaCache {
  /** The object as base64; undefined when it is not there. */
  load(r2Key: string): Promise<string | undefined>;
}

/** A key is never written twice with other bytes, so what is kept stays right. */
export function createMediaCache(bucket: Pick<Bucket, "get">, budget = defaultBudget): MediaCache {
  const kept = new Map<string, string>();
  let bytes = 0;
  const drop = (key: string) => {
    bytes -= kept.get(key)?.length ?? 0;
    kept.delete(key);
  };
  const keep = (key: string, data: string) => {
    drop(key);
    if (data.length > budget) return;
    kept.set(key, data);
    bytes += data.length;
    for (const oldest of kept.keys()) {
      if (bytes <= budget) break;
      drop(oldest);
    }
  };
  return {
    async load(r2Key) {
      const known = kept.get(r2Key);
      if (known !== undefined) {
        keep(r2Key, known);
        return known;
      }
      const object = await bucket.get(r2Key);
      if (!object) return undefined;
      const data = Buffer.from(object.body).toString("base64");
      keep(r2Key, data);
      return data;
    },
  };
}
