import type { Secrets } from "../world/world.ts";
import type { ConfigurationStore } from "./store.ts";

/** How long a warm function keeps a secret before it reads it again, in milliseconds. */
const maxAgeMs = 60_000;

/** Secrets by their configuration paths, as `Secrets.get`. */
export interface CachedSecrets extends Pick<Secrets, "get"> {
  /** Empties the cache, so that each secret is read again. */
  forget(): void;
}

/**
 * Caches secrets for a minute, and only while the version of the configuration stays the same: every change of a secret
 * also changes that version. A caller that loaded the configuration therefore gets secrets that are at least as new.
 */
export function cacheSecrets(
  secrets: Pick<Secrets, "get">,
  configuration: Pick<ConfigurationStore, "version">,
  now: () => number,
): CachedSecrets {
  const cache = new Map<string, { value: string | undefined; readAt: number; version: number | undefined }>();
  return {
    async get(path) {
      const version = configuration.version();
      const cached = cache.get(path);
      if (cached && cached.version === version && now() - cached.readAt < maxAgeMs) return cached.value;
      const value = await secrets.get(path);
      cache.set(path, { value, readAt: now(), version });
      return value;
    },
    forget: () => cache.clear(),
  };
}
