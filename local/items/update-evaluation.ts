import type { Step } from "../../shared/world/expression.ts";
import type { Item, ItemValue } from "../../shared/world/world.ts";
import { partsOf } from "./condition-evaluation.ts";
import { addNumbers } from "./decimal-number.ts";
import { clashOf, type Parts, valueAt } from "./document-path.ts";
import { withChanges } from "./item-change.ts";
import { ValidationException } from "./item-validation.ts";

/** The item that an UpdateExpression makes of another one. @throws ValidationException */
export function applySteps(item: Item, steps: readonly Step[]): Item {
  const changes = steps.map((step) => ({ step, path: partsOf(step.path) }));
  refuseClashes(changes.map(({ path }) => path));
  return withChanges(
    item,
    changes.map(({ step, path }) => ({ path, value: resultOf(valueAt(item, path), step) })),
  );
}

/** The value that a step writes; undefined for a removal. A stored null is a value, and neither a number nor a list. */
function resultOf(before: ItemValue | undefined, step: Step): ItemValue | undefined {
  switch (step.op) {
    case "remove":
      return undefined;
    case "set":
      return step.value;
    case "setIfAbsent":
      return before === undefined ? step.value : before;
    case "add":
      if (before === undefined) return step.by;
      if (typeof before === "number") return addNumbers(before, step.by);
      throw wrongOperand();
    case "append":
      if (before === undefined) return step.values;
      if (Array.isArray(before)) return [...before, ...step.values];
      throw wrongOperand();
  }
}

function wrongOperand(): ValidationException {
  return new ValidationException("An operand in the update expression has an incorrect data type");
}

function refuseClashes(paths: readonly Parts[]): void {
  for (const [i, a] of paths.entries()) {
    for (const b of paths.slice(i + 1)) {
      const clash = clashOf(a, b);
      if (clash) throw new ValidationException(`Two document paths ${clash} with each other`);
    }
  }
}
