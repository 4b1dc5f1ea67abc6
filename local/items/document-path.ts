import type { ItemValue } from "../../shared/world/world.ts";
import { isMap } from "./item-values.ts";

/** The names and list indexes of a place in an item, outermost first. */
export type Parts = readonly (string | number)[];

/** The value at a place; undefined if there is none. */
export function valueAt(value: ItemValue, parts: Parts): ItemValue | undefined {
  let found: ItemValue | undefined = value;
  for (const part of parts) found = found === undefined ? undefined : child(found, part);
  return found;
}

/** One step down: a name into a map, an index into a list; anything else leads nowhere. */
export function child(parent: ItemValue, part: string | number): ItemValue | undefined {
  if (typeof part === "number") return Array.isArray(parent) ? parent[part] : undefined;
  return isMap(parent) && Object.hasOwn(parent, part) ? parent[part] : undefined;
}

/**
 * How two places get in each other's way. `overlap`: they are the same, or one lies in the other. `conflict`: one takes
 * for a list what the other takes for a map.
 */
export function clashOf(one: Parts, other: Parts): "overlap" | "conflict" | undefined {
  const shared = Math.min(one.length, other.length);
  for (let n = 0; n < shared; n++) {
    if (typeof one[n] !== typeof other[n]) return "conflict";
    if (one[n] !== other[n]) return undefined;
  }
  return "overlap";
}
