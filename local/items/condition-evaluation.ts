import type { Condition, Path } from "../../shared/world/expression.ts";
import type { Item, ItemValue } from "../../shared/world/world.ts";
import { type Parts, valueAt } from "./document-path.ts";
import { compareText } from "./text-order.ts";

/** The names and list indexes of a path, outermost first. */
export function partsOf(path: Path): Parts {
  return typeof path === "string" ? [path] : path;
}

/** Whether a ConditionExpression holds. An absent item counts as one without attributes. */
export function holds(item: Item, condition: Condition): boolean {
  switch (condition.is) {
    case "exists":
      return valueAt(item, partsOf(condition.path)) !== undefined;
    case "absent":
      return valueAt(item, partsOf(condition.path)) === undefined;
    case "lacks":
      return lacksPart(valueAt(item, partsOf(condition.path)), condition.part);
    case "all":
      return condition.of.every((one) => holds(item, one));
    case "any":
      return condition.of.some((one) => holds(item, one));
    default:
      return compares(valueAt(item, partsOf(condition.path)), condition.is, condition.value);
  }
}

/** What is no text lacks every part. */
function lacksPart(found: ItemValue | undefined, part: string): boolean {
  return typeof found !== "string" || !found.includes(part);
}

/** Compares two values. Values of different types, and absent values, are unequal and unordered. */
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
function orderOf(a: string | number | boolean, b: string | number | boolean): number {
  if (typeof a === "string" && typeof b === "string") return compareText(a, b);
  return Number(a) - Number(b);
}
