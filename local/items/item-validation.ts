import type { Item, ItemValue, Key } from "../../shared/world/world.ts";
import { isMap } from "./item-values.ts";
import { tableIndexes } from "./keyed-items.ts";

/** A request that DynamoDB refuses whatever is stored: the caller's mistake. */
export class ValidationException extends Error {
  override name = "ValidationException";
}

const maxItemBytes = 400 * 1024;
const maxNesting = 32;
const maxPkBytes = 2048;
const maxSkBytes = 1024;

/** @throws ValidationException when a part of the key is empty, too long or no text */
export function checkKey({ pk, sk }: Key): void {
  if (typeof pk !== "string" || pk === "" || typeof sk !== "string" || sk === "") {
    throw new ValidationException("One or more parameter values are not valid: a key attribute is empty");
  }
  if (isLonger(pk, maxPkBytes) || isLonger(sk, maxSkBytes)) {
    throw new ValidationException("One or more parameter values are not valid: a key attribute is too long");
  }
}

/**
 * Checks what every item must keep to: at most 400 KB, at most 32 levels of lists and maps, numbers that a JavaScript
 * number holds exactly, and index attributes of the index's types.
 * @throws ValidationException
 */
export function checkItem(item: Item): void {
  if (mapSize(item, 0) > maxItemBytes) {
    throw new ValidationException("Item size has exceeded the maximum allowed size");
  }
  for (const { pk, sk } of Object.values(tableIndexes)) {
    if (isIndexable(item[pk], "string") && isIndexable(item[sk], "number")) continue;
    throw new ValidationException(
      `One or more parameter values are not valid for the index key ${pk}, ${sk}`,
    );
  }
}

/** An item without the attribute is fine: it is not in the index. */
function isIndexable(value: ItemValue | undefined, type: "string" | "number"): boolean {
  return value === undefined || (typeof value === type && value !== "");
}

/** Bytes that the item counts for by DynamoDB's rules: names and values in UTF-8. */
export function itemSize(item: Item): number {
  return mapSize(item, 0);
}

function mapSize(map: { [name: string]: ItemValue | undefined }, depth: number): number {
  let size = 0;
  for (const name in map) size += Buffer.byteLength(name) + valueSize(map[name], depth);
  return size;
}

/** @param depth how many lists and maps are around the value */
function valueSize(value: ItemValue | undefined, depth: number): number {
  switch (typeof value) {
    case "string":
      return Buffer.byteLength(value);
    case "number":
      return numberSize(value);
    case "object":
      return value === null ? 1 : containerSize(value, depth + 1);
    default:
      return 1;
  }
}

function containerSize(value: ItemValue, depth: number): number {
  if (depth > maxNesting) {
    throw new ValidationException("Nesting Levels have exceeded supported limits");
  }
  if (isMap(value)) return 3 + Object.keys(value).length + mapSize(value, depth);
  let size = 3;
  for (const one of value as ItemValue[]) size += 1 + valueSize(one, depth);
  return size;
}

/** About half a byte a digit. */
function numberSize(value: number): number {
  if (!(Math.abs(value) <= Number.MAX_SAFE_INTEGER)) {
    throw new ValidationException(`The number ${value} cannot be stored exactly`);
  }
  return 1 + Math.ceil(String(Math.abs(value)).replace(".", "").length / 2);
}

function isLonger(text: string, bytes: number): boolean {
  return text.length * 3 > bytes && Buffer.byteLength(text) > bytes;
}
