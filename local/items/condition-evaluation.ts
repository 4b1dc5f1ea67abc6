import type { Condition, Path } from "../../shared/world/expression.ts";
import type { Item, ItemValue } from "../../shared/world/world.ts";
import { isMap } from "./item-values.ts";
import { compareText } from "./text-order.ts";

/** The names and list indexes of a path, outermost first. */
export function partsOf(path: Path): readonly (string | number)[] {
  return typeof path === "string" ? [path] : path;
}

/** What stands at a place of an item; undefined where there is nothing. */
export function valueAt(item: Item, path: Path): ItemValue | undefined {
  let found: ItemValue | undefined = item;
  for (const part of partsOf(path)) found = found === undefined ? undefined : child(found, part);
  return found;
}

/** One step down: a name into a map, an index into a list; anything else leads nowhere. */
export function child(parent: ItemValue, part: string | number): ItemValue | undefined {
  if (typeof part === "number") return Array.isArray(parent) ? parent[part] : undefined;
  return isMap(parent) && Object.hasOwn(parent, part) ? parent[part] : undefined;
}

/** Whether a ConditionExpression holds. An absent item is judged as one without attributes. */
export function holds(item: Item, condition: Condition): boolean {
  switch (condition.is) {
    case "exists":
      return valueAt(item, condition.path) !== undefined;
    case "absent":
      return valueAt(item, condition.path) === undefined;
    case "all":
      return condition.of.every((one) => holds(item, one));
    case "any":
      return condition.of.some((one) => holds(item, one));
    default:
      return compares(valueAt(item, condition.path), condition.is, condition.value);
  }
}

/** Values of different types are unequal and have no order; so is what is absent. */
function compares(found: ItemValue | undefined, operator: string, value: string | number | boolean): boolean {
  if (typeof found !== typeof value) return operator === "<>";
  const order = orderOf(found as typeof value, value);
  switch (operator) {
    case "=":
      return order === 0;
    case "<>":
      return order !== 0;
    case "<":
      return order < 0;
    case "<=":
      return order <= 0;
    case ">":
      return order > 0;
    default:
      return order >= 0;
  }
}

/** Numbers by value, texts by their UTF-8 bytes. */
export function orderOf(a: string | number | boolean, b: string | number | boolean): number {
  if (typeof a === "string" && typeof b === "string") return compareText(a, b);
  return Number(a) - Number(b);
}
