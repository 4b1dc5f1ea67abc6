import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import type { Item, ItemValue } from "../world/world.ts";

/**
 * The one name that the SDK's own maps cannot contain. It is stored with a `~` appended; a name that already looks like that
 * gets one more.
 */
const escaped = /^__proto__~*$/;

/** The name under which an attribute is stored. */
export function storedName(name: string): string {
  return escaped.test(name) ? `${name}~` : name;
}

/**
 * An item in DynamoDB's JSON, without undefined values. Attribute names may come from outside and equal an object's methods;
 * the SDK's `marshall` rejects such maps.
 * @throws Error for NaN and for numbers that are not safe integers in size
 */
export function encodeItem(item: { [name: string]: ItemValue | undefined }): Record<string, AttributeValue> {
  const attributes = Object.entries(item).flatMap(([name, value]) =>
    value === undefined ? [] : [[storedName(name), encodeValue(value)] as const],
  );
  return Object.fromEntries(attributes);
}

function encodeValue(value: ItemValue): AttributeValue {
  if (typeof value === "string") return { S: value };
  if (typeof value === "boolean") return { BOOL: value };
  if (value === null) return { NULL: true };
  if (Array.isArray(value)) return { L: value.filter((one) => one !== undefined).map(encodeValue) };
  if (typeof value === "object") return { M: encodeItem(value) };
  if (!(Math.abs(value) <= Number.MAX_SAFE_INTEGER)) throw new Error(`${value} cannot be stored as a number`);
  return { N: String(value) };
}

/** Decodes an item from DynamoDB's JSON. */
export function decodeItem(attributes: Record<string, AttributeValue>): Item {
  const fields = Object.entries(attributes).map(([name, value]) => {
    return [escaped.test(name) ? name.slice(0, -1) : name, decodeValue(value)] as const;
  });
  return Object.fromEntries(fields);
}

/** @throws Error for types that this program never writes: binary values and sets */
function decodeValue(value: AttributeValue): ItemValue {
  if (value.S !== undefined) return value.S;
  if (value.N !== undefined) return Number(value.N);
  if (value.BOOL !== undefined) return value.BOOL;
  if (value.NULL !== undefined) return null;
  if (value.L !== undefined) return value.L.map(decodeValue);
  if (value.M !== undefined) return decodeItem(value.M);
  throw new Error(`an attribute of the type ${Object.keys(value)[0]} cannot be read`);
}
