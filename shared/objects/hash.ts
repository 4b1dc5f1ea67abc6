import { createHash } from "node:crypto";
import canonicalizeModule from "canonicalize";
import type {
  FileFields,
  MemoryObject,
  ObjectFields,
  ObjectHashes,
  StaticRef,
  ToolcallFields,
} from "../protocol/objects.ts";

/** The package's types export `default`, but the module itself is the function. */
const canonicalize = canonicalizeModule as unknown as (value: unknown) => string | undefined;

/** SHA-256 of a text in UTF-8, in hex. A lone surrogate counts as U+FFFD. */
export function sha256(text: string): string {
  return createHash("sha256").update(text, "utf8").digest("hex");
}

/**
 * Canonical JSON of RFC 8785: no spaces, members in order. A lone surrogate, which UTF-8 cannot encode, becomes U+FFFD.
 * Undefined members are left out.
 * @throws Error for NaN, an infinite number, and values that JSON cannot represent
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

/** SHA-256 of an object's content, equal to `sha256sum` of the exported text. Null counts as an empty text. */
export function contentHash(content: string | null): string {
  return sha256(content ?? "");
}

/** The fields of an object that its metadata view uses. */
type ViewedFields<Fields> = Fields extends ToolcallFields
  ? Pick<Fields, "id" | "type" | "tool" | "args_display" | "status">
  : Fields extends FileFields
    ? Pick<Fields, "id" | "type" | "path" | "file_type" | "char_count" | "nickname">
    : Fields;

/**
 * What the model sees of an object while its content is hidden: the fields of its type in a fixed order, joined by `|`.
 * An absent field counts as an empty text. A session has no view.
 */
export function metadataView(object: ViewedFields<ObjectFields>): string {
  const { id, type } = object;
  switch (object.type) {
    case "file":
      return joined([id, type, object.path, object.file_type, object.char_count, object.nickname]);
    case "toolcall":
      return joined([id, type, object.tool, object.args_display, object.status]);
    case "chat":
      return joined([id, type, object.session_ref, object.turn_count]);
    case "system_prompt":
      return joined([id, type, object.chat_ref]);
    case "session":
      return "";
  }
}

function joined(fields: readonly (string | number | null | undefined)[]): string {
  return fields.map((field) => field ?? "").join("|");
}

/** SHA-256 of an object's metadata view. */
export function metadataViewHash(fields: ObjectFields): string {
  return sha256(metadataView(fields));
}

/** SHA-256 of an object's canonical JSON without its time and its hashes. References inside the object keep theirs. */
export function objectHash(fields: ObjectFields | MemoryObject): string {
  const { at, content_hash, metadata_view_hash, object_hash, ...hashed } = fields as MemoryObject;
  const members = Object.entries(hashed).filter(([, value]) => value !== undefined);
  // Field names are ASCII, so this is the order of RFC 8785.
  members.sort(([one], [other]) => (one < other ? -1 : 1));
  return sha256(`{${members.map(([name, value]) => `"${name}":${memberJson(value)}`).join(",")}}`);
}

const knownJson = new WeakMap<object, string>();

/** Canonical JSON of a field. The JSON of list elements is cached, because the versions of a chat share their turns. */
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

/** A reference to this version of an object. */
export function staticRef(object: MemoryObject): StaticRef {
  const { id, version_no, at, content_hash, metadata_view_hash, object_hash } = object;
  return { id, version_no, at, content_hash, metadata_view_hash, object_hash };
}
