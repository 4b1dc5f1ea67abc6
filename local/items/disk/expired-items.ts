import type { ItemStore } from "../item-store.ts";
import type { StoredItem } from "../keyed-items.ts";

/**
 * Deletes the items whose `expiresAt` (epoch seconds) has passed. An item whose time was extended meanwhile
 * is kept.
 * @param now epoch seconds
 * @returns how many were deleted
 */
async function deleteExpired(store: ItemStore, now: number): Promise<number> {
  const isExpired = ({ expiresAt }: StoredItem) => typeof expiresAt === "number" && expiresAt < now;
  const expired = [...store.all()].filter(isExpired);
  let deleted = 0;
  for (const key of expired) {
    const left = await store.write(key, (item) => (item && isExpired(item) ? undefined : item));
    if (left === undefined) deleted += 1;
  }
  return deleted;
}

/**
 * Deletes expired items now and every `intervalMs`. Passes do not overlap. DynamoDB may take a few days.
 * @returns a function that stops it and resolves when no pass is running
 */
export function startExpiry(
  store: ItemStore,
  intervalMs: number,
  onError: (error: unknown) => void,
): () => Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  let running = pass();

  async function pass(): Promise<void> {
    await deleteExpired(store, Math.floor(Date.now() / 1000)).catch(onError);
    if (stopped) return;
    timer = setTimeout(() => {
      running = pass();
    }, intervalMs).unref();
  }

  return async () => {
    stopped = true;
    clearTimeout(timer);
    await running;
  };
}
