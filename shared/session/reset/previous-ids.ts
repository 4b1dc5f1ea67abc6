import type { Item, Key, Table } from "../../world/world.ts";
import type { SessionState } from "../state.ts";

/** Earlier ids that are kept for a session. The bucket keeps the archives of all. */
export const maxPreviousIds = 500;

/** Earlier ids in the session's own item, which every step of a turn writes: more than so many, or this many at first. */
const heldIds = { most: 40, least: 20 };

/** The earlier ids that the session's own item does not hold any more. */
const previousKey = (sessionKey: string): Key => ({ pk: `S#${sessionKey}`, sk: "PREVIOUS" });

/** The earlier ids of a session, oldest first: at most `maxPreviousIds`, the newest ones. */
export async function readPreviousIds(
  table: Table,
  { sessionKey, previousSessionIds }: Pick<SessionState, "sessionKey" | "previousSessionIds">,
): Promise<string[]> {
  if (previousSessionIds.length < heldIds.least) return previousSessionIds;
  return joined(await table.get(previousKey(sessionKey)), previousSessionIds);
}

/**
 * Keeps the earlier ids of a session: the oldest in an item of their own when there are many. A repeat changes nothing.
 * @returns what the session's own item is to hold
 */
export async function keepPreviousIds(
  table: Table,
  sessionKey: string,
  ids: readonly string[],
): Promise<string[]> {
  if (ids.length <= heldIds.most) return [...ids];
  const key = previousKey(sessionKey);
  const older = joined(await table.get(key), ids.slice(0, -heldIds.least));
  await table.put({ ...key, ids: older });
  return ids.slice(-heldIds.least);
}

function joined(item: Item | undefined, ids: readonly string[]): string[] {
  const older = (item?.ids as unknown[] | undefined)?.map(String) ?? [];
  return [...new Set([...older, ...ids])].slice(-maxPreviousIds);
}
