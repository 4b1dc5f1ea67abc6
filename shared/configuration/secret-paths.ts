import { formatPath, isObject, type JsonObject, valueAt } from "./paths.ts";
import { secretMarker } from "./schema.ts";

const accountSecrets = new Set([
  "accessToken",
  "appSecret",
  "botToken",
  "signingSecret",
  "verifyToken",
  "webhookSecret",
]);

/**
 * Whether a path holds a secret: `apiKeys.*`, `auth.token`, `transcription.apiKey`, the secret fields of
 * `channels.*.accounts.*`.
 */
export function isSecretPath(path: readonly string[]): boolean {
  const [first, second, third, fourth, fifth] = path;
  if (first === "apiKeys") return path.length === 2;
  if (first === "auth") return path.length === 2 && second === "token";
  if (first === "transcription") return path.length === 2 && second === "apiKey";
  return (
    first === "channels" &&
    path.length === 5 &&
    third === "accounts" &&
    fourth !== undefined &&
    accountSecrets.has(fifth ?? "")
  );
}

/** A copy in which every secret is the marker. */
export function maskSecrets<T>(value: T, path: readonly string[] = []): T {
  if (isSecretPath(path)) return (value === undefined ? value : secretMarker) as T;
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([name, child]) => [name, maskSecrets(child, [...path, name])]);
  return Object.fromEntries(entries) as T;
}

/** The paths of all secrets that are set in a part of the overrides, as the parameter store is asked for them. */
export function secretsIn(value: unknown, path: readonly string[] = []): string[] {
  if (isSecretPath(path)) return value === undefined ? [] : [formatPath(path)];
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, child]) => secretsIn(child, [...path, name]));
}

/**
 * Prepares a value for storing: collects its new secrets into `found`, and resolves markers. A marker keeps a secret
 * that is set and means nothing where none is, so that what was read can be written back as it is.
 * @returns the value with new secrets still in the clear, undefined when nothing of it is left to store
 */
export function splitSecrets(
  value: unknown,
  path: readonly string[],
  overrides: JsonObject,
  found: Map<string, string>,
): unknown {
  if (isSecretPath(path)) {
    if (value === secretMarker) return valueAt(overrides, path) === undefined ? undefined : secretMarker;
    if (typeof value === "string") found.set(formatPath(path), value);
    return value;
  }
  if (!isObject(value)) return value;
  const kept: JsonObject = {};
  for (const [name, child] of Object.entries(value)) {
    const split = splitSecrets(child, [...path, name], overrides, found);
    if (split !== undefined) kept[name] = split;
  }
  return kept;
}
