import { toJsonSchema } from "@valibot/to-json-schema";
import * as v from "valibot";
import { isRecord } from "./is-record.ts";
import { isNestedDeeper } from "./schemas.ts";

/** Largest input schema of one tool, in bytes of JSON. */
export const maxSchemaBytes = 32_000;

/** Maximum nesting of an input schema. */
export const maxSchemaLevels = 20;

/**
 * Keywords that OpenAI rejects at the top of an input schema; Anthropic and Amazon Bedrock reject the first
 * three. One rejected tool makes every model call fail.
 */
const refusedAtTop = ["oneOf", "anyOf", "allOf", "enum", "not"];

/** Names of arguments that Anthropic accepts. */
const argumentName = /^[A-Za-z0-9_.-]{1,64}$/;

const types = ["array", "boolean", "integer", "null", "number", "object", "string"];

type Fields = Record<string, unknown>;

/** Fields of a schema that contain one schema, a list of schemas, or schemas by name. */
const inner = {
  one: ["items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else"],
  list: ["oneOf", "anyOf", "allOf", "prefixItems"],
  named: ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"],
} as const;

/**
 * Why model providers would reject a tool's input schema, or why it cannot be stored; undefined when it is
 * valid. A valid schema is JSON Schema (2020-12) of an object.
 */
export function schemaFault(schema: Fields): string | undefined {
  if (isNestedDeeper(schema, maxSchemaLevels)) return `nested deeper than ${maxSchemaLevels} levels`;
  if (Buffer.byteLength(JSON.stringify(schema)) > maxSchemaBytes)
    return `larger than ${maxSchemaBytes} bytes`;
  if (field(schema, "type") !== "object") return 'expected "type": "object" at the top';
  const refused = refusedAtTop.find((keyword) => Object.hasOwn(schema, keyword));
  if (refused !== undefined) return `${refused} at the top; model providers reject it there`;
  const names = Object.keys(isRecord(schema.properties) ? schema.properties : {});
  const strange = names.find((name) => !argumentName.test(name));
  if (strange !== undefined)
    return `properties: the name ${JSON.stringify(strange.slice(0, 64))}; expected letters, digits, _, . and -, at most 64`;
  return faultIn(schema, "");
}

/** The first fault of a schema or of a schema inside it, with its place. */
function faultIn(schema: unknown, place: string): string | undefined {
  if (typeof schema === "boolean" && place !== "") return undefined;
  if (!isRecord(schema)) return `${place}expected a schema`;
  return faultOf(schema, place) ?? first(schemasIn(schema, place), ([at, one]) => faultIn(one, `${at}: `));
}

/** The first fault of a schema's own fields. */
function faultOf(schema: Fields, place: string): string | undefined {
  const type = field(schema, "type");
  if (type !== undefined && ![type].flat().every((one) => types.includes(one as string)))
    return `${place}type: expected ${types.join(", ")}, or a list of them`;
  const required = field(schema, "required");
  if (required !== undefined && !isTexts(required)) return `${place}required: expected a list of names`;
  const values = field(schema, "enum");
  if (values !== undefined && !Array.isArray(values)) return `${place}enum: expected a list`;
  const ref = field(schema, "$ref");
  if (ref !== undefined && !(typeof ref === "string" && ref.startsWith("#")))
    return `${place}$ref: expected a place in the same schema, #/…`;
  const list = inner.list.find((name) => Object.hasOwn(schema, name) && !Array.isArray(schema[name]));
  if (list !== undefined) return `${place}${list}: expected a list`;
  const named = inner.named.find((name) => Object.hasOwn(schema, name) && !isRecord(schema[name]));
  return named === undefined ? undefined : `${place}${named}: expected an object`;
}

/** The schemas directly inside of a schema, with their places. */
function schemasIn(schema: Fields, place: string): [place: string, schema: unknown][] {
  const own = (names: readonly string[]) => names.filter((name) => Object.hasOwn(schema, name));
  return [
    ...own(inner.one).map((name): [string, unknown] => [`${place}${name}`, schema[name]]),
    ...[...own(inner.list), ...own(inner.named)].flatMap((name) =>
      Object.entries(schema[name] as object).map(([key, one]): [string, unknown] => [
        `${place}${name}.${key.slice(0, 64)}`,
        one,
      ]),
    ),
  ];
}

function first<T>(values: readonly T[], faultFor: (value: T) => string | undefined): string | undefined {
  for (const value of values) {
    const fault = faultFor(value);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function field(fields: Fields, name: string): unknown {
  return Object.hasOwn(fields, name) ? fields[name] : undefined;
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}

/** Checks that JSON Schema cannot express, or that models pass unasked; they apply only when a call is parsed. */
const unannounced = ["check", "trim", "min_length", "max_length", "min_value", "regex"];

/** The JSON Schema of a tool's arguments. */
export interface InputSchema extends Record<string, unknown> {
  properties?: Record<string, unknown>;
  required?: string[];
}

/**
 * The JSON Schema of a tool's arguments, from the valibot schemas that check them. Arguments are
 * required unless their schema is optional. `v.description` gives the description for the model.
 * @throws Error for a schema that JSON Schema cannot express
 */
export function inputSchemaOf(entries: v.ObjectEntries): InputSchema {
  const { $schema: _dialect, ...schema } = toJsonSchema(v.object(entries), { ignoreActions: unannounced });
  return JSON.parse(JSON.stringify(schema, withoutNoise)) as InputSchema;
}

/** Omits what says nothing to a model, because each byte is paid for in every request. */
function withoutNoise(name: string, value: unknown): unknown {
  const isEmpty = (name === "description" && value === "") || (name === "required" && String(value) === "");
  const isNeverReached = name === "maximum" && typeof value === "number" && value >= 1_000_000;
  return isEmpty || isNeverReached ? undefined : value;
}
