import type * as v from "valibot";
import { code, PeerError } from "../protocol/errors.ts";
import { absent, equal, set } from "../world/expression.ts";
import { configurationKey } from "../world/stored-format.ts";
import { ConditionFailed, type Secrets, type Table } from "../world/world.ts";
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
} from "./configuration-paths.ts";
import { defaults } from "./defaults.ts";
import { type Configuration, configurationSchema, configurationSecrets, findFault } from "./schema.ts";
import { secretMarker } from "./secret.ts";
import { createSecretPaths, type SecretPaths } from "./secret-paths.ts";

/**
 * Maximum age of the cached configuration, in milliseconds. A caller that names no version may miss a change for this
 * long.
 */
const maxAgeMs = 5000;

/** Maximum attempts of an optimistic write. More conflicts in a row indicate another fault. */
const maxAttempts = 10;

/** Maximum size of the overrides. A table item has at most 400 KB, including its other attributes. */
const maxOverridesBytes = 350_000;

/**
 * The gateway's configuration: defaults with the overrides of one table item, secrets in the parameter store.
 */
export interface ConfigurationStore {
  /**
   * The whole configuration, at most 5 s old. `fresh`: read it again. `anyAge`: accept a cached one of any
   * age. `atLeast`: read it again if it is older than this version. Secrets that are set are `***`. Callers must
   * not change it.
   */
  load(options?: { fresh?: boolean; anyAge?: boolean; atLeast?: number }): Promise<Configuration>;
  /**
   * Reports that another function has just read this version. If the cached configuration has this version, it counts as
   * read now; otherwise nothing changes.
   */
  confirm(version: number | undefined): void;
  /**
   * The version of the configuration that was read last; undefined before the first read. Every change, also of a secret,
   * increments it.
   */
  version(): number | undefined;
  /**
   * Implements `config.get`: the whole configuration, or the value at a path (null when unset), with secrets
   * masked.
   */
  get(path?: string): Promise<{ config: Configuration } | { path: string; value: unknown }>;
  /** Whether the newest configuration overrides anything at a path. */
  isSet(path: string): Promise<boolean>;
  /**
   * Implements `config.set`. The value replaces the override at the path; null or undefined removes it, which
   * restores the default. Secrets, also inside an object, go to the parameter store; `***` keeps a stored
   * secret.
   * @throws PeerError 400 naming the path and the reason, when the new configuration is invalid; 413 when the
   * overrides are too large; 409 (retryable) after too many conflicts. Nothing is written then.
   */
  set(path: string, value: unknown): Promise<{ ok: true; path: string }>;
  /**
   * Replaces the override at a path by the result of `next`, which gets the current override or undefined.
   * `next` is called again after a conflict with another writer. An unchanged value writes nothing.
   * @throws PeerError as `set`
   */
  change(path: string, next: (override: unknown) => unknown): Promise<void>;
}

/** A setting of earlier releases, which is ignored. The next change of any setting drops it, with its secret. */
const former = { path: ["memory", "embeddings"], secret: "memory.embeddings.apiKey" };

interface Stored {
  /** Without the former setting. */
  overrides: JsonObject;
  hasFormer: boolean;
  version: number;
}

interface ConfigurationOptions {
  /** Epoch milliseconds. */
  now?: () => number;
  /** The model that is used while none is set. Default: that of `defaults`. */
  model?: Configuration["model"];
  /** Declares the settings, and which of them are secrets. */
  schema?: ConfigurationSchema;
}

type ConfigurationSchema = v.GenericSchema<unknown, Configuration>;

/** Opens the configuration stored in a table, with secrets in the parameter store. */
export function openConfiguration(
  table: Table,
  secrets: Secrets,
  { now = Date.now, schema = configurationSchema, model = defaults.model }: ConfigurationOptions = {},
): ConfigurationStore {
  const isUsual = schema === configurationSchema;
  const rules = { schema, secretPaths: isUsual ? configurationSecrets : createSecretPaths(schema) };
  const readings = createReadings(table, model);
  let reading: { seen: Promise<Seen>; startedAt: number } | undefined;
  const readAgain = (): Promise<Seen> => {
    const started = { seen: readings.next(), startedAt: now() };
    reading = started;
    started.seen.catch(() => {
      if (reading === started) reading = undefined;
    });
    return started.seen;
  };
  const load: ConfigurationStore["load"] = async ({ fresh = false, anyAge = false, atLeast = 0 } = {}) => {
    const newest = readings.newest();
    if (anyAge && newest) return newest.configuration;
    const isRecent = !fresh && reading !== undefined && now() - reading.startedAt < maxAgeMs;
    const seen = await (isRecent && reading ? reading.seen : readAgain());
    return (seen.version < atLeast ? await readAgain() : seen).configuration;
  };
  const change: ConfigurationStore["change"] = async (path, next) => {
    const segments = parsePath(path);
    const isFormer = former.path.every((name, i) => segments[i] === name);
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const stored = await readStored(table);
      const before = valueAt(stored.overrides, segments);
      const value = next(before);
      if (isFormer && value !== null && value !== undefined)
        throw refusal(path, "no such setting any more: search needs no embedding model (docs/search.md)");
      checkValue(value, segments);
      const planned = value === before ? undefined : planChange(rules, stored.overrides, segments, value);
      if (!planned) return;
      if (stored.hasFormer) planned.remove.push(former.secret);
      if (await apply(table, secrets, stored.version, planned)) {
        reading = undefined;
        return;
      }
    }
    throw new PeerError(code.conflict, `${path}: changed by somebody else at the same time; try again`, {
      retryable: true,
    });
  };
  return {
    load,
    change,
    confirm(version) {
      const newest = readings.newest();
      if (newest && newest.version === version) reading = { seen: Promise.resolve(newest), startedAt: now() };
    },
    version: () => readings.newest()?.version,
    async get(path) {
      const segments = path ? parsePath(path) : [];
      const config = rules.secretPaths.mask(await load({ fresh: true }));
      return path ? { path, value: valueAt(config, segments) ?? null } : { config };
    },
    async isSet(path) {
      return valueAt((await readStored(table)).overrides, parsePath(path)) !== undefined;
    },
    async set(path, value) {
      await change(path, () => value ?? null);
      return { ok: true, path };
    },
  };
}

/** A configuration that was read. */
interface Seen {
  configuration: Configuration;
  version: number;
}

/**
 * Reads the stored configuration and caches the newest one. Overlapping reads may end in another order than their versions;
 * each returns the newest version seen so far.
 */
function createReadings(
  table: Table,
  model: Configuration["model"],
): { newest(): Seen | undefined; next(): Promise<Seen> } {
  let kept: { seen: Seen; endedAs: number } | undefined;
  let events = 0;
  return {
    newest: () => kept?.seen,
    async next() {
      const beganAs = ++events;
      const { overrides, version } = await readStored(table);
      const endedAs = ++events;
      // A later read with a lower version means that the table was restored from a backup.
      const isOverlapping = kept !== undefined && beganAs < kept.endedAs;
      if (!kept || !isOverlapping || version > kept.seen.version) {
        const isSame = kept?.seen.version === version;
        const configuration = isSame && kept ? kept.seen.configuration : mergeConfiguration(overrides, model);
        kept = { seen: { configuration, version }, endedAs };
      }
      return kept.seen;
    },
  };
}

/**
 * Defaults with overrides: objects merge deeply, arrays and primitives replace, undefined is ignored.
 * @param model the default model
 */
export function mergeConfiguration(overrides: JsonObject, model = defaults.model): Configuration {
  const base = structuredClone({ ...defaults, model });
  return merge(base as unknown as JsonObject, overrides) as unknown as Configuration;
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

async function readStored(table: Table): Promise<Stored> {
  const item = await table.get(configurationKey);
  if (!item) return { overrides: {}, hasFormer: false, version: 0 };
  const overrides = JSON.parse(String(item.overrides)) as JsonObject;
  const hasFormer = valueAt(overrides, former.path) !== undefined;
  return {
    overrides: hasFormer ? withoutValue(overrides, former.path) : overrides,
    hasFormer,
    version: Number(item.version),
  };
}

interface Change {
  /** The new overrides, with markers for secrets. */
  overrides: JsonObject;
  put: Map<string, string>;
  remove: string[];
}

/**
 * The overrides and secrets to write for a change; undefined when nothing changes. Does not write.
 * @throws PeerError 400 when the new configuration is invalid
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
  // Also deletes a parameter without marker, left by a crash.
  if (kept === undefined && isSecret && !remove.includes(formatPath(path))) remove.push(formatPath(path));
  return { overrides, put, remove };
}

/**
 * Writes secrets first, then the item. A crash in between leaves a parameter without a marker, or a marker
 * without a parameter, which reads as an unset secret. After a conflict the caller repeats both writes, so
 * that the last writer of the item is also the last writer of the secrets.
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
    await table.update(
      configurationKey,
      steps,
      version === 0 ? absent("version") : equal("version", version),
    );
    return true;
  } catch (error) {
    if (error instanceof ConditionFailed) return false;
    throw error;
  }
}
