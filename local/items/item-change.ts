import type { Item, ItemValue } from "../../shared/world/world.ts";
import { child, type Parts, valueAt } from "./document-path.ts";
import { ValidationException } from "./item-validation.ts";
import { isMap } from "./item-values.ts";

/** What an update does at one place of an item. */
export interface PlaceChange {
  path: Parts;
  /** The new value; undefined to remove what is there. */
  value: ItemValue | undefined;
}

/**
 * The item with all changes made. List indexes mean the lists as they were; an index past the end means the end.
 * @param changes at places that do not clash
 * @throws ValidationException where the map or list around a place is missing
 */
export function withChanges<T extends Item>(item: T, changes: readonly PlaceChange[]): T {
  for (const { path } of changes) requireParent(item, path);
  let changed: ItemValue = item;
  // New elements come to the end of a list in the order of their indexes.
  for (const { path, value } of [...changes].sort(byLastIndex)) {
    if (value !== undefined) changed = withValue(changed, path, value);
  }
  // The last element is removed first, so that the indexes of the others stay right.
  for (const { path, value } of [...changes].sort(byLastIndex).reverse()) {
    if (value === undefined && valueAt(item, path) !== undefined) changed = without(changed, path);
  }
  return changed as T;
}

/** A change can make or remove an element, never the map or list around it. */
function requireParent(item: Item, path: Parts): void {
  const parent = valueAt(item, path.slice(0, -1));
  const fits = typeof path.at(-1) === "number" ? Array.isArray(parent) : isMap(parent);
  if (fits) return;
  throw new ValidationException("The document path provided in the update expression is invalid for update");
}

function withValue(container: ItemValue, [part, ...rest]: Parts, value: ItemValue): ItemValue {
  if (part === undefined) return value;
  const inner = withValue(child(container, part) ?? null, rest, value);
  if (!Array.isArray(container)) return { ...(container as Item), [part]: inner };
  const copy = [...container];
  copy[Math.min(Number(part), copy.length)] = inner;
  return copy;
}

function without(container: ItemValue, [part, ...rest]: Parts): ItemValue {
  if (part === undefined) return container;
  if (rest.length > 0) return withValue(container, [part], without(child(container, part) ?? null, rest));
  if (Array.isArray(container)) return container.filter((_, n) => n !== part);
  const { [String(part)]: _, ...others } = container as Item;
  return others;
}

function byLastIndex(a: PlaceChange, b: PlaceChange): number {
  const [left, right] = [a.path.at(-1), b.path.at(-1)];
  return typeof left === "number" && typeof right === "number" ? left - right : 0;
}
