import { lazily } from "./lazily.ts";

/** How long a warm function keeps a secret before it reads it again, in milliseconds. */
const secretMaxAgeMs = 60_000;

/**
 * Secrets as SSM SecureString parameters, addressed by their configuration path
 * (`apiKeys.anthropic` is `{prefix}/secrets/apiKeys/anthropic`).
 */
export interface Secrets {
  /** Undefined when there is none. Cached for a minute. */
  get(path: string): Promise<string | undefined>;
  put(path: string, value: string): Promise<void>;
  /** Deleting what is not there is not an error. */
  delete(path: string): Promise<void>;
}

/** SecureString parameters by their whole name. */
export interface Parameters {
  get(name: string): Promise<string | undefined>;
  put(name: string, value: string): Promise<void>;
  delete(name: string): Promise<void>;
}

/**
 * SSM's client is loaded when it is first used.
 * @param prefix parameter path without a trailing slash, e.g. `/gsv/dev`
 */
export function openSecrets(prefix: string, now: () => number = Date.now): Secrets {
  const parameters = lazily<Parameters>({ get: true, put: true, delete: true }, async () =>
    (await import("./ssm-parameters.ts")).openParameters(),
  );
  const cache = new Map<string, { value: string | undefined; readAt: number }>();
  const nameOf = (path: string) => `${prefix}/secrets/${path.replaceAll(".", "/")}`;
  return {
    async get(path) {
      const cached = cache.get(path);
      if (cached && now() - cached.readAt < secretMaxAgeMs) return cached.value;
      const value = await parameters.get(nameOf(path));
      cache.set(path, { value, readAt: now() });
      return value;
    },
    async put(path, value) {
      await parameters.put(nameOf(path), value);
      cache.delete(path);
    },
    async delete(path) {
      await parameters.delete(nameOf(path));
      cache.delete(path);
    },
  };
}
