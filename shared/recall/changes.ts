import { add } from "../world/expression.ts";
import type { Key, Table } from "../world/world.ts";

const keyOf = (agentId: string): Key => ({ pk: `INDEX#${agentId}`, sk: "META" });

/** Counts a change of what an agent can recall, such as a deletion: warm functions read it again at the next message. */
export async function countChange(table: Table, agentId: string): Promise<void> {
  await table.update(keyOf(agentId), [add("changes", 1)]);
}

/** The number of changes so far. */
export async function readChanges(table: Table, agentId: string): Promise<number> {
  return Number((await table.get(keyOf(agentId)))?.changes ?? 0);
}
