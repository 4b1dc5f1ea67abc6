import { code, PeerError } from "../protocol/errors.ts";

/** Plain JSON values of overrides. */
export type JsonObject = { [name: string]: unknown };

/** Maximum depth of paths and of values. */
const maxDepth = 16;

/** Names that would change an object's prototype when assigned. */
const unsafeNames = new Set(["__proto__", "constructor", "prototype"]);

const segment = /([^.[\]"]+)|\[("(?:[^"\\]|\\.)+")\]/y;
const furtherSegment = /\.([^.[\]"]+)|\[("(?:[^"\\]|\\.)+")\]/y;

/**
 * Parses a configuration path: names separated by dots; a name with dots, quotes or brackets is quoted
 * as in JSON, `skills.entries["my.skill"].enabled`.
 * @throws PeerError 400 for an invalid path, more than 16 names, or a prototype's name.
 */
export function parsePath(text: string): string[] {
  const path: string[] = [];
  let position = 0;
  while (position < text.length || path.length === 0) {
    const pattern = path.length === 0 ? segment : furtherSegment;
    pattern.lastIndex = position;
    const match = pattern.exec(text);
    const name = match?.[1] ?? unquote(match?.[2]);
    if (!match || name === undefined) throw refusal("path", "not a configuration path");
    if (unsafeNames.has(name)) throw refusal("path", `the name ${name} is not allowed`);
    path.push(name);
    position = pattern.lastIndex;
    if (path.length > maxDepth) throw refusal("path", `deeper than ${maxDepth} names`);
  }
  return path;
}

/** Formats names as a path; the inverse of `parsePath`. */
export function formatPath(path: readonly string[]): string {
  let text = "";
  for (const name of path) {
    if (!/^[^.[\]"]+$/.test(name)) text += `[${JSON.stringify(name)}]`;
    else text += text === "" ? name : `.${name}`;
  }
  return text;
}

/** @throws PeerError 400 when a value has a prototype's name as a key, or is nested deeper than 16 */
export function checkValue(value: unknown, path: readonly string[]): void {
  if (typeof value !== "object" || value === null) return;
  if (path.length > maxDepth) throw refusal(formatPath(path), `nests deeper than ${maxDepth}`);
  for (const [name, child] of Object.entries(value)) {
    if (unsafeNames.has(name)) throw refusal(formatPath(path), `the name ${name} is not allowed`);
    checkValue(child, [...path, name]);
  }
}

/** The value at a path; undefined when there is none. */
export function valueAt(root: unknown, path: readonly string[]): unknown {
  let value = root;
  for (const name of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as JsonObject)[name];
  }
  return value;
}

/** A copy with the value at the path. Values on the path that are not objects are replaced by objects. */
export function withValue(root: JsonObject, path: readonly string[], value: unknown): JsonObject {
  const [name, ...rest] = path;
  if (name === undefined) return root;
  const child = root[name];
  return {
    ...root,
    [name]: rest.length === 0 ? value : withValue(isObject(child) ? child : {}, rest, value),
  };
}

/** A copy without the value at the path, and without objects that become empty. */
export function withoutValue(root: JsonObject, path: readonly string[]): JsonObject {
  const [name, ...rest] = path;
  if (name === undefined || !Object.hasOwn(root, name)) return root;
  const { [name]: child, ...others } = root;
  if (rest.length === 0) return others;
  if (!isObject(child)) return root;
  const remaining = withoutValue(child, rest);
  return Object.keys(remaining).length === 0 ? others : { ...others, [name]: remaining };
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A PeerError 400 with the path and the reason. */
export function refusal(path: string, reason: string): PeerError {
  return new PeerError(code.badRequest, `${path}: ${reason}`);
}

function unquote(quoted: string | undefined): string | undefined {
  try {
    return quoted === undefined ? undefined : (JSON.parse(quoted) as string);
  } catch {
    return undefined;
  }
}
