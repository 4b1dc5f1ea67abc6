import type { Condition, Step } from "../../shared/world/expression.ts";
import { ConditionFailed, type IndexQuery, type Key, type Query } from "../../shared/world/world.ts";
import { holds } from "./condition-evaluation.ts";
import type { ItemReader } from "./item-store.ts";
import { checkKey, ValidationException } from "./item-validation.ts";
import { copyOf } from "./item-values.ts";
import { projected, type StoredItem } from "./keyed-items.ts";
import { compareText } from "./text-order.ts";
import { applySteps } from "./update-evaluation.ts";

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
export function rowsOf(items: ItemReader, { limit, ...range }: IndexQuery): StoredItem[] {
  return firstOf(items.indexRange(range), limit).map((item) => projected(range.index, item));
}

function firstOf(items: Iterable<StoredItem>, limit = Number.POSITIVE_INFINITY): StoredItem[] {
  const found: StoredItem[] = [];
  for (const item of items) {
    if (found.length >= limit) break;
    found.push(item);
  }
  return found;
}
