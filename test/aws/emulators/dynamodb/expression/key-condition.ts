import type { ItemValue } from "../../../../../shared/world/world.ts";
import { typeOf } from "../attribute-value.ts";
import { invalid } from "../dynamodb-error.ts";
import type { QueriedKeys } from "../dynamodb-schema.ts";
import type { Comparator, Condition, Operand } from "./condition-syntax.ts";

/** The bounds that a KeyConditionExpression puts on the sort key. All are inclusive. */
export interface SortBounds {
  prefix?: string;
  from?: ItemValue;
  to?: ItemValue;
}

/** A KeyConditionExpression: one partition, and part of it. */
export interface KeyCondition {
  partition: string;
  /** No smaller than the condition: `<` and `>` are bounded by their value too. */
  bounds: SortBounds;
}

/** A condition on one key attribute. */
interface AttributeCondition {
  name: string;
  /** A comparator, `BETWEEN` or `begins_with`. */
  operator: Comparator | "BETWEEN" | "begins_with";
  values: ItemValue[];
}

const mirrored: Record<Comparator, Comparator> = {
  "=": "=",
  "<>": "<>",
  "<": ">",
  "<=": ">=",
  ">": "<",
  ">=": "<=",
};

/**
 * What a query reads by its KeyConditionExpression.
 * @throws AwsError ValidationException for anything but an equal partition key, and at most one condition on the sort key
 */
export function keyConditionOf(condition: Condition, keys: QueriedKeys): KeyCondition {
  const conditions = conjuncts(condition).map(attributeCondition);
  if (new Set(conditions.map(({ name }) => name)).size < conditions.length) {
    throw invalid("KeyConditionExpressions must only contain one condition per key");
  }
  if (conditions.length > 2) throw invalid("Conditions can be of length 1 or 2 only");
  const partition = conditions.find(({ name }) => name === keys.pk);
  const sort = conditions.find(({ name }) => name === keys.sk);
  if (partition === undefined || (conditions.length === 2 && sort === undefined)) {
    throw invalid(`Query condition missed key schema element: ${partition ? keys.sk : keys.pk}`);
  }
  requireKeyValues(partition, "S");
  if (partition.operator !== "=") throw invalid("Query key condition not supported");
  if (sort !== undefined) requireKeyValues(sort, keys.sortType);
  return { partition: String(partition.values[0]), bounds: sort === undefined ? {} : boundsOf(sort) };
}

function conjuncts(condition: Condition): Condition[] {
  if (condition.kind !== "and") return [condition];
  return [...conjuncts(condition.left), ...conjuncts(condition.right)];
}

function attributeCondition(condition: Condition): AttributeCondition {
  switch (condition.kind) {
    case "compare":
      return comparison(condition);
    case "between":
      return {
        name: attributeName(condition.value),
        operator: "BETWEEN",
        values: [operandValue(condition.low), operandValue(condition.high)],
      };
    case "begins_with":
      return {
        name: attributeName(condition.value),
        operator: "begins_with",
        values: [operandValue(condition.part)],
      };
    default:
      throw invalid(`Invalid operator used in KeyConditionExpression: ${condition.kind.toUpperCase()}`);
  }
}

function comparison({ comparator, left, right }: Condition & { kind: "compare" }): AttributeCondition {
  if (comparator === "<>") throw invalid("Invalid operator used in KeyConditionExpression: <>");
  if (left.kind === "value" && right.kind === "path") {
    return { name: attributeName(right), operator: mirrored[comparator], values: [left.value] };
  }
  return { name: attributeName(left), operator: comparator, values: [operandValue(right)] };
}

function attributeName(operand: Operand): string {
  if (operand.kind === "size") throw invalid("KeyConditionExpressions cannot contain nested operations");
  if (operand.kind === "value") {
    throw invalid("Invalid condition in KeyConditionExpression: No key attribute specified");
  }
  if (operand.path.length === 1) return String(operand.path[0]);
  throw invalid("KeyConditionExpressions cannot have conditions on nested attributes");
}

function operandValue(operand: Operand): ItemValue {
  if (operand.kind === "value") return operand.value;
  if (operand.kind === "size") throw invalid("KeyConditionExpressions cannot contain nested operations");
  throw invalid(
    "Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition",
  );
}

function requireKeyValues({ name, operator, values }: AttributeCondition, type: "S" | "N"): void {
  if (operator === "begins_with" && type === "N") {
    throw invalid("One or more parameter values were invalid: begins_with is not valid for a number");
  }
  for (const value of values) {
    if (typeOf(value) !== type) {
      throw invalid(
        "One or more parameter values were invalid: Condition parameter type does not match schema type",
      );
    }
    if (value !== "") continue;
    throw invalid(
      `One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: ${name}`,
    );
  }
}

function boundsOf({ operator, values: [first, second] }: AttributeCondition): SortBounds {
  switch (operator) {
    case "begins_with":
      return { prefix: String(first) };
    case "BETWEEN":
      return { from: first, to: second };
    case "<":
    case "<=":
      return { to: first };
    case ">":
    case ">=":
      return { from: first };
    default:
      return { from: first, to: first };
  }
}
