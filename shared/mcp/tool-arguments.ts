import { isRecord } from "../protocol/is-record.ts";
import { isNestedDeeper } from "../protocol/schemas.ts";
import { maxSchemaLevels, schemaFault } from "../protocol/tool-schema.ts";

type Fields = Record<string, unknown>;

/** The only argument of a tool whose own schema providers refuse at the top. */
const wrapper = "input";

/** Where a wrapped schema's own definitions are, as a reference. */
const place = `#/properties/${wrapper}`;

/** A tool's input schema as providers accept it, and whether `unwrapArguments` has to undo a change. */
export interface OfferedSchema {
  schema: Fields;
  isWrapped: boolean;
}

/**
 * The input schema of an MCP tool as model providers accept it. One that they refuse at the top (`anyOf`, an argument's name) becomes
 * the schema of the argument `input`. One that they refuse also there accepts any object: the server checks it.
 */
export function offerSchema(given: unknown): OfferedSchema {
  const { $schema: _dialect, ...rest } = isRecord(given) ? given : {};
  const own = { ...rest, ...(Object.hasOwn(rest, "type") ? {} : { type: "object" }) };
  if (schemaFault(own) === undefined) return { schema: own, isWrapped: false };
  const accepted = { schema: { type: "object", additionalProperties: true }, isWrapped: false };
  if (isNestedDeeper(rest, maxSchemaLevels)) return accepted;
  const wrapped = {
    type: "object",
    properties: { [wrapper]: moveReferences(Object.hasOwn(rest, "type") ? own : rest) },
    required: [wrapper],
  };
  return schemaFault(wrapped) === undefined ? { schema: wrapped, isWrapped: true } : accepted;
}

/** The arguments as the server expects them. A model that left the wrapper out is understood, too. */
export function unwrapArguments(isWrapped: boolean, args: Fields): Fields {
  const inner = isWrapped && Object.hasOwn(args, wrapper) ? args[wrapper] : undefined;
  return isRecord(inner) ? inner : args;
}

/** A schema whose references to itself still lead to the same place after it was moved into `place`. */
function moveReferences(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(moveReferences);
  if (!isRecord(schema)) return schema;
  return Object.fromEntries(
    Object.entries(schema).map(([name, value]) => [
      name,
      name === "$ref" && typeof value === "string" && value.startsWith("#")
        ? `${place}${value.slice(1)}`
        : moveReferences(value),
    ]),
  );
}
