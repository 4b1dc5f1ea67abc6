import { findKeys, findObject, removeObject, type Store } from "./object-files.ts";

/** A rule of a bucket's lifecycle: objects whose key begins with `prefix` go when they are `days` old. */
export type Expiration = { prefix: string; days: number };

const dayMs = 24 * 3600 * 1000;
/** S3 looks once a day, and promises no hour. */
const intervalMs = 3600 * 1000;

/** Removes the objects of all buckets that a rule has expired. @param now epoch ms */
export async function removeExpired(store: Store, rules: readonly Expiration[], now: number): Promise<void> {
  for (const bucket of store.buckets) {
    for (const { prefix, days } of rules) {
      for (const key of await findKeys(store, bucket, prefix)) {
        const object = await findObject(store, bucket, key);
        if (object && Date.parse(object.lastModified) < now - days * dayMs)
          await removeObject(store, bucket, key);
      }
    }
  }
}

/**
 * Removes expired objects now and every hour. A failure is left to the next time.
 * @returns the way to stop it, which waits for the removal under way
 */
export function startLifecycle(store: Store, rules: readonly Expiration[]): () => Promise<void> {
  const pass = () => removeExpired(store, rules, Date.now()).catch(() => {});
  let last = pass();
  const timer = setInterval(() => {
    last = last.then(pass);
  }, intervalMs);
  timer.unref();
  return async () => {
    clearInterval(timer);
    await last;
  };
}
