import { isRecord } from "../../../../local/http/json.ts";
import { formatNumber, parseNumber } from "../../../../local/items/decimal-number.ts";
import type { Item, ItemValue } from "../../../../shared/world/world.ts";
import { invalid, unreadable } from "./dynamodb-error.ts";

/** A value in DynamoDB's JSON, with its type as the one field's name. */
export type AttributeValue =
  | { S: string }
  | { N: string }
  | { BOOL: boolean }
  | { NULL: true }
  | { L: AttributeValue[] }
  | { M: AttributeMap };

export type AttributeMap = { [name: string]: AttributeValue };

/** The types of values that the local table keeps. */
export type AttributeType = "S" | "N" | "BOOL" | "NULL" | "L" | "M";

const unsupported = ["B", "SS", "NS", "BS"];
const types = ["S", "N", "BOOL", "NULL", "L", "M", ...unsupported];
const maxDepth = 32;

/**
 * The store's form of an item in DynamoDB's JSON.
 * @throws AwsError SerializationException for what the wire does not allow; ValidationException for a value that
 * DynamoDB refuses, and for binary values and sets, which the local table does not keep
 */
export function decodeItem(attributes: unknown): Item {
  return decodeMap(attributes, 0);
}

/** As `decodeItem`, for one value. */
export function decodeValue(value: unknown, depth = 0): ItemValue {
  if (!isRecord(value)) throw unreadable("Unexpected value type in payload");
  if (depth > maxDepth) throw invalid("Nesting Levels have exceeded supported limits");
  const given = types.filter((type) => value[type] !== undefined && value[type] !== null);
  const [type] = given;
  if (type === undefined || given.length > 1) {
    const fault = type === undefined ? "is empty, must" : "has more than one datatypes set, must";
    throw invalid(`Supplied AttributeValue ${fault} contain exactly one of the supported datatypes`);
  }
  if (unsupported.includes(type)) {
    throw invalid(`The local table keeps S, N, BOOL, NULL, L and M, not ${type}`);
  }
  return decodeTyped(type as AttributeType, value[type], depth);
}

function decodeTyped(type: AttributeType, value: unknown, depth: number): ItemValue {
  switch (type) {
    case "S":
      return requireString(value);
    case "N":
      return parseNumber(requireString(value));
    case "BOOL":
      return requireBoolean(value);
    case "NULL":
      if (requireBoolean(value)) return null;
      throw invalid(
        "One or more parameter values were invalid: Null attribute value types must have the value of true",
      );
    case "L":
      if (!Array.isArray(value)) throw unreadable("Unexpected field type");
      return value.map((one) => decodeValue(one, depth + 1));
    case "M":
      return decodeMap(value, depth + 1);
  }
}

function decodeMap(value: unknown, depth: number): Item {
  if (!isRecord(value)) throw unreadable("Unexpected field type");
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, decodeValue(one, depth)]));
}

function requireString(value: unknown): string {
  if (typeof value === "string") return value;
  throw unreadable(`${JSON.stringify(value)} cannot be converted to String`);
}

function requireBoolean(value: unknown): boolean {
  if (typeof value === "boolean") return value;
  throw unreadable(`${JSON.stringify(value)} cannot be converted to Boolean`);
}

/** DynamoDB's JSON of an item. */
export function encodeItem(item: { [name: string]: ItemValue | undefined }): AttributeMap {
  const encoded = Object.entries(item).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, encodeValue(value)] as const],
  );
  return Object.fromEntries(encoded);
}

function encodeValue(value: ItemValue): AttributeValue {
  if (typeof value === "string") return { S: value };
  if (typeof value === "number") return { N: formatNumber(value) };
  if (typeof value === "boolean") return { BOOL: value };
  if (value === null) return { NULL: true };
  if (Array.isArray(value)) return { L: value.map(encodeValue) };
  return { M: encodeItem(value) };
}

/** The type that a value has on the wire. */
export function typeOf(value: ItemValue): AttributeType {
  if (typeof value === "string") return "S";
  if (typeof value === "number") return "N";
  if (typeof value === "boolean") return "BOOL";
  if (value === null) return "NULL";
  return Array.isArray(value) ? "L" : "M";
}
