import type { Condition, Step } from "../../shared/world/expression.ts";
import {
  ConditionFailed,
  type IndexQuery,
  type Item,
  type ItemValue,
  type Key,
  type Query,
} from "../../shared/world/world.ts";
import { holds, partsOf } from "./condition-evaluation.ts";
import { addNumbers } from "./decimal-number.ts";
import { clashOf, type Parts, valueAt } from "./document-path.ts";
import { withChanges } from "./item-change.ts";
import type { ItemReader } from "./item-store.ts";
import { checkKey, ValidationException } from "./item-validation.ts";
import { copyOf } from "./item-values.ts";
import { projected, type StoredItem, tableIndexes } from "./keyed-items.ts";
import { compareText } from "./text-order.ts";

/** A read of the table, as a value. */
export type ReadCall =
  | { op: "get"; key: Key }
  | { op: "query"; query: Query }
  | { op: "queryIndex"; query: IndexQuery };

/** A write to the table, as a value. */
export type WriteCall =
  | { op: "put"; item: StoredItem; condition?: Condition }
  | { op: "update"; key: Key; steps: readonly Step[]; condition?: Condition }
  | { op: "delete"; key: Key; condition?: Condition };

/** One request to the table, as a value. */
export type TableCall = ReadCall | WriteCall;

export function isWrite(call: TableCall): call is WriteCall {
  return call.op === "put" || call.op === "update" || call.op === "delete";
}

/** The key of the item that a call writes. */
export function keyOf(call: WriteCall): Key {
  return call.op === "put" ? call.item : call.key;
}

/**
 * The item that a write leaves in the place of another; undefined when it leaves none. It shares nothing with the call.
 * @throws ConditionFailed, ValidationException
 */
export function changedItem(before: StoredItem | undefined, call: WriteCall): StoredItem | undefined {
  if (call.condition && !holds(before ?? {}, call.condition)) throw new ConditionFailed();
  switch (call.op) {
    case "put":
      return copyOf(call.item);
    case "update":
      return updated(before, call.key, call.steps);
    case "delete":
      return undefined;
  }
}

function updated(before: StoredItem | undefined, { pk, sk }: Key, steps: readonly Step[]): StoredItem {
  for (const { path } of steps) {
    const name = typeof path === "string" ? path : path[0];
    if (name !== "pk" && name !== "sk") continue;
    throw new ValidationException(`Cannot update attribute ${name}. This attribute is part of the key`);
  }
  return applySteps(before ?? { pk, sk }, steps.map(ownStep)) as StoredItem;
}

/** A step with values of its own. */
function ownStep(step: Step): Step {
  if (step.op === "append") return { ...step, values: copyOf(step.values) };
  return step.op === "set" || step.op === "setIfAbsent" ? { ...step, value: copyOf(step.value) } : step;
}

/**
 * What a read finds. It belongs to the store and must not be changed.
 * @throws ValidationException
 */
export function itemAt(items: Pick<ItemReader, "get">, key: Key): StoredItem | undefined {
  checkKey(key);
  return items.get(key);
}

/** As `itemAt`, for the items of a query. */
export function itemsOf(items: ItemReader, { limit, ...range }: Query): StoredItem[] {
  const { from, to } = range;
  if (from !== undefined && to !== undefined && compareText(from, to) > 0) {
    throw new ValidationException("The BETWEEN operator requires upper bound to be greater than lower bound");
  }
  return firstOf(items.range(range), limit);
}

/** As `itemAt`, for the rows of an index, each with what the index holds of it. */
export function rowsOf(items: ItemReader, { limit, after: row, ...range }: IndexQuery): StoredItem[] {
  const { index } = range;
  const after = row && { ...(row as StoredItem), at: Number(row[tableIndexes[index].sk]) };
  return firstOf(items.indexRange({ ...range, after }), limit).map((item) => projected(index, item));
}

function firstOf(items: Iterable<StoredItem>, limit = Number.POSITIVE_INFINITY): StoredItem[] {
  const found: StoredItem[] = [];
  for (const item of items) {
    if (found.length >= limit) break;
    found.push(item);
  }
  return found;
}

/** The item that an UpdateExpression makes of another one. @throws ValidationException */
function applySteps(item: Item, steps: readonly Step[]): Item {
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
