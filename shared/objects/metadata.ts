import type {
  FileFields,
  MemoryObject,
  ObjectFields,
  StaticRef,
  ToolcallFields,
} from "../protocol/objects.ts";

/** The fields of an object that a model is told of. */
type SeenFields<Fields> = Fields extends ToolcallFields
  ? Pick<Fields, "id" | "type" | "tool" | "args_display" | "status">
  : Fields extends FileFields
    ? Pick<Fields, "id" | "type" | "path" | "file_type" | "char_count" | "nickname">
    : Fields;

/**
 * What a model is told of an object whose content it does not see: the fields of its type in a fixed order, joined by
 * `|`. A field that is absent counts as an empty text. Nothing is told of a session.
 */
export function metadataView(object: SeenFields<ObjectFields>): string {
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

/** A reference to this version of an object. */
export function staticRef(object: MemoryObject): StaticRef {
  const { id, version_no, at, content_hash, metadata_view_hash, object_hash } = object;
  return { id, version_no, at, content_hash, metadata_view_hash, object_hash };
}
