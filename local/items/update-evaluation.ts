import type { Step } from "../../shared/world/expression.ts";
import type { Item, ItemValue } from "../../shared/world/world.ts";
import { child, partsOf, valueAt } from "./condition-evaluation.ts";
import { ValidationException } from "./item-validation.ts";
import { isMap } from "./item-values.ts";

type Parts = readonly (string | number)[];

/** The item that an UpdateExpression makes of another one. @throws ValidationException */
export function applySteps(item: Item, steps: readonly Step[]): Item {
  refuseOverlaps(steps.map(({ path }) => partsOf(path)));
  const values = steps.map((step) => resultOf(item, step));
  for (const { path } of steps) requireParent(item, partsOf(path));
  let changed = item;
  for (const [i, step] of steps.entries()) {
    const value = values[i];
    if (value !== undefined) changed = withValue(changed, partsOf(step.path), value) as Item;
  }
  // List indexes mean the list as it was: the last is taken out first.
  const removed = steps.filter(({ op }) => op === "remove").map(({ path }) => partsOf(path));
  for (const parts of removed.sort(byLastIndex)) changed = without(changed, parts) as Item;
  return changed;
}

/** The value that a step writes, as of the item before the update; undefined for a removal. */
function resultOf(item: Item, step: Step): ItemValue | undefined {
  const before = valueAt(item, step.path);
  switch (step.op) {
    case "remove":
      return undefined;
    case "set":
      return step.value;
    case "setIfAbsent":
      return before ?? step.value;
    case "add":
      if (typeof (before ?? 0) !== "number") throw wrongOperand();
      return Number(before ?? 0) + step.by;
    case "append":
      if (!Array.isArray(before ?? [])) throw wrongOperand();
      return [...((before as ItemValue[] | undefined) ?? []), ...step.values];
  }
}

function wrongOperand(): ValidationException {
  return new ValidationException("An operand in the update expression has an incorrect data type");
}

function refuseOverlaps(paths: readonly Parts[]): void {
  for (const [i, a] of paths.entries()) {
    for (const b of paths.slice(i + 1)) {
      const shared = Math.min(a.length, b.length);
      if (a.slice(0, shared).every((part, n) => part === b[n])) {
        throw new ValidationException("Two document paths overlap with each other");
      }
    }
  }
}

/** A step can make or remove an element, never the map or list around it. */
function requireParent(item: Item, parts: Parts): void {
  const parent = valueAt(item, parts.slice(0, -1));
  const fits = typeof parts.at(-1) === "number" ? Array.isArray(parent) : isMap(parent);
  if (fits) return;
  throw new ValidationException("The document path provided in the update expression is invalid for update");
}

function withValue(container: ItemValue, [part, ...rest]: Parts, value: ItemValue): ItemValue {
  if (part === undefined) return value;
  const inner = withValue(child(container, part) ?? null, rest, value);
  if (!Array.isArray(container)) return { ...(container as Item), [part]: inner };
  const copy = [...container];
  // An index past the end means the end.
  copy[Math.min(Number(part), copy.length)] = inner;
  return copy;
}

function without(container: ItemValue, [part, ...rest]: Parts): ItemValue {
  if (part === undefined || child(container, part) === undefined) return container;
  if (rest.length > 0) return withValue(container, [part], without(child(container, part) ?? null, rest));
  if (Array.isArray(container)) return container.filter((_, i) => i !== part);
  const { [String(part)]: _, ...others } = container as Item;
  return others;
}

function byLastIndex(a: Parts, b: Parts): number {
  const [left, right] = [a.at(-1), b.at(-1)];
  return typeof left === "number" && typeof right === "number" ? right - left : 0;
}
