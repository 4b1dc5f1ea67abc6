import type { Secrets } from "../world/world.ts";

/** How long a warm function keeps a secret before it reads it again, in milliseconds. */
const maxAgeMs = 60_000;

/** Caches secrets for a minute. Writes of this process are visible at once. */
export function cacheSecrets(secrets: Secrets, now: () => number = Date.now): Secrets {
  const cache = new Map<string, { value: string | undefined; readAt: number }>();
  return {
    async get(path) {
      const cached = cache.get(path);
      if (cached && now() - cached.readAt < maxAgeMs) return cached.value;
      const value = await secrets.get(path);
      cache.set(path, { value, readAt: now() });
      return value;
    },
    async put(path, value) {
      await secrets.put(path, value);
      cache.delete(path);
    },
    async delete(path) {
      await secrets.delete(path);
      cache.delete(path);
    },
  };
}
