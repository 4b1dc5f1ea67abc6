import { addNumbers } from "../../../../../local/items/decimal-number.ts";
import { valueAt } from "../../../../../local/items/document-path.ts";
import { withChanges } from "../../../../../local/items/item-change.ts";
import type { Item, ItemValue } from "../../../../../shared/world/world.ts";
import { invalid } from "../dynamodb-error.ts";
import type { Action, Formula } from "./update-syntax.ts";

/**
 * The item that the actions of an UpdateExpression make of another one.
 * @throws AwsError, ValidationException
 */
export function applyActions(item: Item, actions: readonly Action[]): Item {
  return withChanges(
    item,
    actions.map((action) => ({ path: action.path, value: valueWritten(action, item) })),
  );
}

function valueWritten(action: Action, item: Item): ItemValue | undefined {
  switch (action.kind) {
    case "remove":
      return undefined;
    case "set":
      return evaluate(action.formula, item);
    case "add": {
      const before = valueAt(item, action.path);
      return addNumbers(before === undefined ? 0 : requireNumber(before), action.by);
    }
  }
}

function evaluate(formula: Formula, item: Item): ItemValue {
  switch (formula.kind) {
    case "value":
      return formula.value;
    case "path": {
      const found = valueAt(item, formula.path);
      if (found !== undefined) return found;
      throw invalid("The provided expression refers to an attribute that does not exist in the item");
    }
    case "+":
    case "-": {
      const left = requireNumber(evaluate(formula.left, item));
      const right = requireNumber(evaluate(formula.right, item));
      return addNumbers(left, formula.kind === "+" ? right : -right);
    }
    case "if_not_exists": {
      // A stored null is a value.
      const found = valueAt(item, formula.path);
      return found === undefined ? evaluate(formula.otherwise, item) : found;
    }
    case "list_append":
      return [...requireList(evaluate(formula.left, item)), ...requireList(evaluate(formula.right, item))];
  }
}

function requireNumber(value: ItemValue): number {
  if (typeof value === "number") return value;
  throw wrongOperand();
}

function requireList(value: ItemValue): ItemValue[] {
  if (Array.isArray(value)) return value;
  throw wrongOperand();
}

function wrongOperand(): Error {
  return invalid("An operand in the update expression has an incorrect data type");
}
