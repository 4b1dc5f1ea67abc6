import { absent, equal, type Step, set } from "./expression.ts";
import { ConditionFailed, type Item, type Key, type Table } from "./world.ts";

/**
 * Changes an item with one conditional write, which takes effect only if nobody has written the item since it was read.
 * `version` is the item's epoch: every such write increments it.
 * @param read the item as it was read; without a version if it did not exist, or only other writers have written it
 * @returns the item as written; undefined if somebody has written it meanwhile
 */
export async function changeItem(
  table: Table,
  key: Key,
  { version }: { version?: number },
  steps: readonly Step[],
): Promise<Item | undefined> {
  const unchanged = version === undefined ? absent("version") : equal("version", version);
  try {
    return await table.update(key, [...steps, set("version", (version ?? 0) + 1)], unchanged);
  } catch (error) {
    if (error instanceof ConditionFailed) return undefined;
    throw error;
  }
}
