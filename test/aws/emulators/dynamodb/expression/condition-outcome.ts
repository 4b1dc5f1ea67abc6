import { valueAt } from "../../../../../local/items/document-path.ts";
import { isMap } from "../../../../../local/items/item-values.ts";
import { compareText } from "../../../../../local/items/text-order.ts";
import type { Item, ItemValue } from "../../../../../shared/world/world.ts";
import { typeOf } from "../attribute-value.ts";
import type { Comparator, Condition, Operand } from "./condition-syntax.ts";

/** Whether a condition holds for an item. An absent item is judged as one without attributes. */
export function isTrue(condition: Condition, item: Item): boolean {
  switch (condition.kind) {
    case "and":
      return isTrue(condition.left, item) && isTrue(condition.right, item);
    case "or":
      return isTrue(condition.left, item) || isTrue(condition.right, item);
    case "not":
      return !isTrue(condition.of, item);
    case "compare":
      return compareValues(
        condition.comparator,
        operandValue(condition.left, item),
        operandValue(condition.right, item),
      );
    case "between":
      return isBetween(condition, item);
    case "in": {
      const value = operandValue(condition.value, item);
      return condition.options.some((option) => compareValues("=", value, operandValue(option, item)));
    }
    case "attribute_exists":
      return valueAt(item, condition.path) !== undefined;
    case "attribute_not_exists":
      return valueAt(item, condition.path) === undefined;
    case "attribute_type": {
      const value = valueAt(item, condition.path);
      return value !== undefined && typeOf(value) === condition.type;
    }
    case "begins_with": {
      const [value, part] = [operandValue(condition.value, item), operandValue(condition.part, item)];
      return typeof value === "string" && typeof part === "string" && value.startsWith(part);
    }
    case "contains":
      return contains(operandValue(condition.value, item), operandValue(condition.part, item));
  }
}

/** Absent values are equal to nothing. Values of different types are unequal and have no order. */
export function compareValues(
  comparator: Comparator,
  left: ItemValue | undefined,
  right: ItemValue | undefined,
): boolean {
  if (comparator === "=") return isEqual(left, right);
  if (comparator === "<>") return !isEqual(left, right);
  const order = orderOf(left, right);
  if (order === undefined) return false;
  switch (comparator) {
    case "<":
      return order < 0;
    case "<=":
      return order <= 0;
    case ">":
      return order > 0;
    case ">=":
      return order >= 0;
  }
}

/** Negative when `left` comes first: numbers by value, texts by their UTF-8 bytes. Undefined without an order. */
function orderOf(left: ItemValue | undefined, right: ItemValue | undefined): number | undefined {
  if (typeof left === "number" && typeof right === "number") return left - right;
  if (typeof left !== "string" || typeof right !== "string") return undefined;
  return compareText(left, right);
}

function isEqual(left: ItemValue | undefined, right: ItemValue | undefined): boolean {
  if (left === undefined || right === undefined) return false;
  if (Array.isArray(left) && Array.isArray(right)) {
    return left.length === right.length && left.every((one, n) => isEqual(one, right[n]));
  }
  if (isMap(left) && isMap(right)) {
    const names = Object.keys(left);
    if (names.length !== Object.keys(right).length) return false;
    return names.every((name) => Object.hasOwn(right, name) && isEqual(left[name], right[name]));
  }
  return left === right;
}

function isBetween(condition: Condition & { kind: "between" }, item: Item): boolean {
  const value = operandValue(condition.value, item);
  return (
    compareValues(">=", value, operandValue(condition.low, item)) &&
    compareValues("<=", value, operandValue(condition.high, item))
  );
}

/** Whether a text has the part in it, or a list has it as an element. */
function contains(value: ItemValue | undefined, part: ItemValue | undefined): boolean {
  if (Array.isArray(value)) return value.some((one) => isEqual(one, part));
  return typeof value === "string" && typeof part === "string" && value.includes(part);
}

function operandValue(operand: Operand, item: Item): ItemValue | undefined {
  if (operand.kind === "value") return operand.value;
  if (operand.kind === "path") return valueAt(item, operand.path);
  const of = operandValue(operand.of, item);
  if (typeof of === "string" || Array.isArray(of)) return of.length;
  return isMap(of) ? Object.keys(of).length : undefined;
}
