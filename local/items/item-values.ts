import type { Item, ItemValue } from "../../shared/world/world.ts";

export type ItemMap = { [name: string]: ItemValue | undefined };

export function isMap(value: ItemValue | undefined): value is ItemMap {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A deep copy, without fields and list elements that are undefined. */
export function copyOf<T extends ItemValue>(value: T): T;
export function copyOf(value: ItemValue): ItemValue {
  if (typeof value !== "object" || value === null) return value;
  return Array.isArray(value) ? copyOfList(value) : copyOfMap(value);
}

function copyOfList(list: readonly ItemValue[]): ItemValue[] {
  const copy: ItemValue[] = [];
  for (const value of list) if (value !== undefined) copy.push(copyOf(value));
  return copy;
}

function copyOfMap(map: ItemMap): Item {
  const copy: Item = {};
  for (const name in map) {
    const value = map[name];
    if (value === undefined) continue;
    if (name === "__proto__") Object.defineProperty(copy, name, { value: copyOf(value), ...ownField });
    else copy[name] = copyOf(value);
  }
  return copy;
}

const ownField = { enumerable: true, configurable: true, writable: true };
