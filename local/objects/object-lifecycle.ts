import { findKeys, findObject, removeObject, type Store } from "./object-files.ts";

/** A rule of a bucket's lifecycle: objects whose key begins with `prefix` are deleted after `days` days. */
export type Expiration = { prefix: string; days: number };

const dayMs = 24 * 3600 * 1000;
/** Interval of the removal, ms. S3 runs it once a day. */
const intervalMs = 3600 * 1000;

/** Removes the expired objects of all buckets. @param now epoch ms */
async function removeExpired(store: Store, rules: readonly Expiration[], now: number): Promise<void> {
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
 * Removes expired objects now and every hour. Errors are ignored; the next run tries again.
 * @returns a function that stops it and waits for a running removal
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
