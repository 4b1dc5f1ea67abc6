import { createHash } from "node:crypto";
import canonicalizeModule from "canonicalize";
import type { MemoryObject, ObjectFields, ObjectHashes } from "../protocol/objects.ts";
import { metadataView } from "./metadata.ts";

/** The types of the package say `exports.default`, but the function is the module itself. */
const canonicalize = canonicalizeModule as unknown as (value: unknown) => string | undefined;

/** SHA-256 of a text in UTF-8, in hex. A half of a surrogate pair counts as U+FFFD. */
export function sha256(text: string): string {
  return createHash("sha256").update(text, "utf8").digest("hex");
}

/**
 * JSON in the one form of RFC 8785: no spaces, the names of members in order. A half of a surrogate pair, which UTF-8
 * cannot hold, becomes U+FFFD. Members that are undefined are left out.
 * @throws Error for NaN, for an infinite number, and for a value that JSON cannot hold
 */
export function canonicalJson(value: unknown): string {
  const json = canonicalize(wellFormed(value));
  if (json === undefined) throw new Error(`a value of type ${typeof value} has no JSON form`);
  return json;
}

function wellFormed(value: unknown): unknown {
  if (typeof value === "string") return value.toWellFormed();
  if (Array.isArray(value)) return value.map(wellFormed);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name.toWellFormed(), wellFormed(member)]),
  );
}

/** SHA-256 of an object's content: what `sha256sum` says of the exported text. Null counts as an empty text. */
export function contentHash(content: string | null): string {
  return sha256(content ?? "");
}

/** SHA-256 of what a model is told of an object whose content it does not see. */
export function metadataViewHash(fields: ObjectFields): string {
  return sha256(metadataView(fields));
}

/**
 * SHA-256 of the canonical JSON of an object without its time and its hashes. References inside the object keep theirs.
 */
export function objectHash(fields: ObjectFields | MemoryObject): string {
  const { at, content_hash, metadata_view_hash, object_hash, ...hashed } = fields as MemoryObject;
  const members = Object.entries(hashed).filter(([, value]) => value !== undefined);
  // The names of fields are ASCII, so that this is the order of RFC 8785.
  members.sort(([one], [other]) => (one < other ? -1 : 1));
  return sha256(`{${members.map(([name, value]) => `"${name}":${memberJson(value)}`).join(",")}}`);
}

const knownJson = new WeakMap<object, string>();

/** Canonical JSON of a field. That of each element of a list is kept: the versions of a chat share their turns. */
function memberJson(value: unknown): string {
  if (!Array.isArray(value)) return canonicalJson(value);
  const elements = value.map((element: unknown) => {
    if (typeof element !== "object" || element === null) return canonicalJson(element);
    const json = knownJson.get(element) ?? canonicalJson(element);
    knownJson.set(element, json);
    return json;
  });
  return `[${elements.join(",")}]`;
}

/** The object with its hashes. */
export function withHashes<Fields extends ObjectFields>(fields: Fields): Fields & ObjectHashes {
  return {
    ...fields,
    content_hash: contentHash(fields.content),
    metadata_view_hash: metadataViewHash(fields),
    object_hash: objectHash(fields),
  };
}
