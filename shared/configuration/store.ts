import type * as v from "valibot";
import { code, PeerError } from "../protocol/errors.ts";
import { absent, equal, set } from "../world/expression.ts";
import { ConditionFailed, type Secrets, type Table } from "../world/world.ts";
import { defaults } from "./defaults.ts";
import {
  checkValue,
  formatPath,
  isObject,
  type JsonObject,
  parsePath,
  refusal,
  valueAt,
  withoutValue,
  withValue,
} from "./paths.ts";
import { type Configuration, configurationSchema, findFault } from "./schema.ts";
import { secretMarker } from "./secret.ts";
import { createSecretPaths, type SecretPaths } from "./secret-paths.ts";

const itemKey = { pk: "CONFIG", sk: "GLOBAL" };

/**
 * How long a warm function keeps the configuration, in milliseconds: the longest that a change goes unseen.
 */
const maxAgeMs = 5000;

/** Writers that meet start over; this many times in a row means that something else is wrong. */
const maxAttempts = 10;

/** A table item holds 400 KB; the rest is room for the item's other attributes. */
const maxOverridesBytes = 350_000;

/**
 * The gateway's configuration: defaults with the overrides of one table item, secrets in the parameter store.
 */
export interface ConfigurationStore {
  /**
   * The whole configuration, at most 5 s old; with `fresh` as it is now, with `anyAge` as it was last seen. A
   * secret that is set shows as `***`. Not to be changed.
   */
  load(options?: { fresh?: boolean; anyAge?: boolean }): Promise<Configuration>;
  /**
   * What `config.get` answers: the whole, or the value at a path (null where nothing is set), secrets masked.
   */
  get(path?: string): Promise<{ config: Configuration } | { path: string; value: unknown }>;
  /**
   * What `config.set` does. The value replaces the override at the path; null or undefined removes it, so
   * that the default holds again. Secrets go to the parameter store, also those inside of an object; `***`
   * keeps what is set.
   * @throws PeerError 400 naming the path and the reason, when the configuration would not be valid; nothing
   * is written then. 413 when the overrides are too large; 409 when other writers were faster every time.
   */
  set(path: string, value: unknown): Promise<{ ok: true; path: string }>;
  /**
   * Replaces the override at a path by what `next` makes of it (undefined where there is none), however many
   * change it at the same time: `next` may be called again. The same value writes nothing.
   * @throws PeerError as `set`
   */
  change(path: string, next: (override: unknown) => unknown): Promise<void>;
}

interface Stored {
  overrides: JsonObject;
  version: number;
}

interface ConfigurationOptions {
  /** Epoch milliseconds. */
  now?: () => number;
  /** Declares the settings, and which of them are secrets. */
  schema?: ConfigurationSchema;
}

type ConfigurationSchema = v.GenericSchema<unknown, Configuration>;

/** The configuration that a table holds, with its secrets in the parameter store. */
export function openConfiguration(
  table: Table,
  secrets: Secrets,
  { now = Date.now, schema = configurationSchema }: ConfigurationOptions = {},
): ConfigurationStore {
  const rules = { schema, secretPaths: createSecretPaths(schema) };
  let seen: Configuration | undefined;
  let reading: { configuration: Promise<Configuration>; startedAt: number } | undefined;
  const readNow = async () => {
    seen = mergeConfiguration((await read(table)).overrides);
    return seen;
  };
  const load: ConfigurationStore["load"] = async ({ fresh = false, anyAge = false } = {}) => {
    if (anyAge && seen) return seen;
    if (reading && !fresh && now() - reading.startedAt < maxAgeMs) return reading.configuration;
    const started = { configuration: readNow(), startedAt: now() };
    reading = started;
    started.configuration.catch(() => {
      if (reading === started) reading = undefined;
    });
    return started.configuration;
  };
  const change: ConfigurationStore["change"] = async (path, next) => {
    const segments = parsePath(path);
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const stored = await read(table);
      const before = valueAt(stored.overrides, segments);
      const value = next(before);
      checkValue(value, segments);
      const planned = value === before ? undefined : planChange(rules, stored.overrides, segments, value);
      if (!planned) return;
      if (await apply(table, secrets, stored.version, planned)) {
        reading = undefined;
        return;
      }
    }
    throw new PeerError(code.conflict, `${path}: changed by others at the same time`, { retryable: true });
  };
  return {
    load,
    change,
    async get(path) {
      const segments = path ? parsePath(path) : [];
      const config = rules.secretPaths.mask(await load({ fresh: true }));
      return path ? { path, value: valueAt(config, segments) ?? null } : { config };
    },
    async set(path, value) {
      await change(path, () => value ?? null);
      return { ok: true, path };
    },
  };
}

/** Defaults with overrides: objects merge deeply, arrays and primitives replace, undefined is ignored. */
export function mergeConfiguration(overrides: JsonObject): Configuration {
  return merge(structuredClone(defaults) as unknown as JsonObject, overrides) as unknown as Configuration;
}

function merge(base: JsonObject, overrides: JsonObject): JsonObject {
  const merged: JsonObject = { ...base };
  for (const [name, value] of Object.entries(overrides)) {
    if (value === undefined) continue;
    const under = merged[name];
    merged[name] = isObject(value) ? merge(isObject(under) ? under : {}, value) : value;
  }
  return merged;
}

async function read(table: Table): Promise<Stored> {
  const item = await table.get(itemKey);
  if (!item) return { overrides: {}, version: 0 };
  return { overrides: JSON.parse(String(item.overrides)) as JsonObject, version: Number(item.version) };
}

interface Change {
  /** The overrides as they shall be, secrets as markers. */
  overrides: JsonObject;
  put: Map<string, string>;
  remove: string[];
}

/**
 * The overrides and the secrets that setting a path would write; undefined when it changes nothing. Writes
 * nothing.
 * @throws PeerError 400 when the configuration would not be valid
 */
function planChange(
  { schema, secretPaths }: { schema: ConfigurationSchema; secretPaths: SecretPaths },
  current: JsonObject,
  path: string[],
  value: unknown,
): Change | undefined {
  const isSecret = secretPaths.includes(path);
  if (isSecret && value === secretMarker) return undefined;
  const put = new Map<string, string>();
  const kept = secretPaths.split(value ?? undefined, path, current, put);
  const next = kept === undefined ? withoutValue(current, path) : withValue(current, path, kept);
  const fault = findFault(mergeConfiguration(next), schema);
  if (fault) throw refusal(formatPath(fault.path), fault.reason);
  const overrides = secretPaths.mask(next);
  const remaining = new Set(secretPaths.list(overrides));
  const remove = secretPaths.list(current).filter((secret) => !remaining.has(secret));
  // A parameter that a crash left behind without its marker goes too.
  if (kept === undefined && isSecret && !remove.includes(formatPath(path))) remove.push(formatPath(path));
  return { overrides, put, remove };
}

/**
 * Secrets first, then the item: a crash between leaves a parameter without a marker, or a marker without a
 * parameter, which reads as a secret that is not set. Whoever loses the race for the item repeats its secrets
 * too, so that the last writer of the item is also the last writer of the secrets.
 * @returns false when the overrides changed since they were read
 */
async function apply(table: Table, secrets: Secrets, version: number, change: Change): Promise<boolean> {
  const json = JSON.stringify(change.overrides);
  if (Buffer.byteLength(json) > maxOverridesBytes)
    throw new PeerError(code.tooLarge, `the configuration would be larger than ${maxOverridesBytes} bytes`);
  for (const path of change.remove) await secrets.delete(path);
  for (const [path, value] of change.put) await secrets.put(path, value);
  try {
    const steps = [set("overrides", json), set("version", version + 1)];
    await table.update(itemKey, steps, version === 0 ? absent("version") : equal("version", version));
    return true;
  } catch (error) {
    if (error instanceof ConditionFailed) return false;
    throw error;
  }
}
