import { type Step, set, setIfAbsent } from "./expression.ts";
import type { Item, ItemValue } from "./item.ts";
import type { Key } from "./world.ts";

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

/**
 * Steps whose values the previous releases read. The one before the last needs a list of earlier ids in the item of a session,
 * which each acquired lease and each reset leaves there.
 */
export function previousSteps({ pk, sk }: Key, steps: readonly Step[]): Step[] {
  const isAcquired = pk.startsWith("S#") && sk === "META" && steps.some(isAcquiring);
  const values = steps.map((step) => (isListRemoval(step) ? set(idsName, []) : previousStep(step)));
  const isSet = values.some(({ path }) => path === idsName);
  return isAcquired && !isSet ? [...values, setIfAbsent(idsName, [])] : values;
}

const idsName = "previousSessionIds";
const isAcquiring = ({ op, path }: Step) => op === "add" && path === "epoch";
const isListRemoval = ({ op, path }: Step) => op === "remove" && path === idsName;

function previousStep(step: Step): Step {
  const isWhole = step.op === "set" || step.op === "setIfAbsent";
  return isWhole ? { ...step, value: previousValue(step.path, step.value) } : step;
}
