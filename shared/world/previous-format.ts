import type { Step } from "./expression.ts";
import type { Item, ItemValue } from "./item.ts";

// The differences between this storage format and the previous one. The next release deletes this file.

/** The attributes that put an item into a partition of an index. The previous release has one partition for each index. */
const partitions: readonly unknown[] = ["listPk", "duePk"];

function previousValue(name: unknown, value: ItemValue): ItemValue {
  return partitions.includes(name) && typeof value === "string" ? value.replace(/#\d+$/, "") : value;
}

/** An item in the form that the previous release reads. */
export function previousFields<T extends Item>(item: T): T {
  return Object.fromEntries(
    Object.entries(item).map(([name, value]) => [name, previousValue(name, value)]),
  ) as T;
}

/** A step whose value the previous release reads. */
export function previousStep(step: Step): Step {
  const isWhole = step.op === "set" || step.op === "setIfAbsent";
  return isWhole ? { ...step, value: previousValue(step.path, step.value) } : step;
}
