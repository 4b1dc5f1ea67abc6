import type { Parts } from "../../../../../local/items/document-path.ts";
import type { ItemValue } from "../../../../../shared/world/world.ts";

export type Comparator = "=" | "<>" | "<" | "<=" | ">" | ">=";

/** What a condition compares: a place in the item, a value of the request, or the size of one of these. */
export type Operand =
  | { kind: "path"; path: Parts }
  | { kind: "value"; value: ItemValue }
  | { kind: "size"; of: Operand };

/** A parsed ConditionExpression, FilterExpression or KeyConditionExpression. */
export type Condition =
  | { kind: "and" | "or"; left: Condition; right: Condition }
  | { kind: "not"; of: Condition }
  | { kind: "compare"; comparator: Comparator; left: Operand; right: Operand }
  | { kind: "between"; value: Operand; low: Operand; high: Operand }
  | { kind: "in"; value: Operand; options: Operand[] }
  | { kind: "attribute_exists" | "attribute_not_exists"; path: Parts }
  /** `type` may be one that the local table never keeps, such as `SS`. */
  | { kind: "attribute_type"; path: Parts; type: string }
  | { kind: "begins_with" | "contains"; value: Operand; part: Operand };

/** Every document path in a condition. */
export function pathsOf(condition: Condition): Parts[] {
  switch (condition.kind) {
    case "and":
    case "or":
      return [...pathsOf(condition.left), ...pathsOf(condition.right)];
    case "not":
      return pathsOf(condition.of);
    case "compare":
      return pathsOfOperands(condition.left, condition.right);
    case "between":
      return pathsOfOperands(condition.value, condition.low, condition.high);
    case "in":
      return pathsOfOperands(condition.value, ...condition.options);
    case "begins_with":
    case "contains":
      return pathsOfOperands(condition.value, condition.part);
    default:
      return [condition.path];
  }
}

function pathsOfOperands(...operands: Operand[]): Parts[] {
  return operands.flatMap((operand) => {
    if (operand.kind === "size") return pathsOfOperands(operand.of);
    return operand.kind === "path" ? [operand.path] : [];
  });
}
