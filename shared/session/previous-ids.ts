import type { Item, Key, Table } from "../world/world.ts";
import type { SessionState } from "./state.ts";

/** Maximum number of earlier ids that a session reports. The bucket has the archives of all. */
export const maxPreviousIds = 500;

/** How many ids an earlier version stored in the session's item: with fewer, there is no separate item. */
const heldAlone = 20;

/** The fields of a session's item about its earlier ids. */
type Earlier = Pick<SessionState, "sessionKey" | "sessionId" | "resets" | "previousSessionIds" | "context">;

/** The key of the item that a reset wrote; resets are numbered from 1. Its `ids` has the conversation that it ended. */
export function previousKey(sessionKey: string, reset: number): Key {
  return { pk: `S#${sessionKey}`, sk: `PREVIOUS#${String(reset).padStart(10, "0")}` };
}

/** The earlier ids of a session, oldest first: at most `maxPreviousIds`, the newest ones. */
export async function readPreviousIds(table: Table, session: Earlier): Promise<string[]> {
  const { sessionKey, sessionId, resets = 0, previousSessionIds: held = [] } = session;
  if (resets === 0 && held.length < heldAlone) return held;
  // The prefix also matches the item `PREVIOUS`, where earlier versions stored the ids beyond those in the session's item.
  const wanted = { prefix: "PREVIOUS", descending: true, limit: maxPreviousIds + 1 };
  const items = await table.query({ pk: `S#${sessionKey}`, ...wanted });
  const ids = new Set([...items.reverse().flatMap(idsOf), ...held]);
  // A reset in progress has written its item, but its conversation is current until the commit.
  ids.delete(sessionId);
  return [...ids].slice(-maxPreviousIds);
}

/**
 * Records the id of the conversation that a reset ends in a separate item, together with ids that an earlier version left in
 * the session's item. A repeat writes the same item.
 * @returns the number of the reset, which the reset's commit stores in the session's item as `resets`
 */
export async function recordPreviousId(table: Table, session: Earlier): Promise<number> {
  const { sessionKey, sessionId, resets = 0, previousSessionIds: held = [] } = session;
  await table.put({ ...previousKey(sessionKey, resets + 1), ids: [...held, sessionId] });
  return resets + 1;
}

/** The items that name a session's ended conversations, oldest first. */
export async function previousItems(table: Table, sessionKey: string): Promise<(Key & { ids: string[] })[]> {
  const items = await table.query({ pk: `S#${sessionKey}`, prefix: "PREVIOUS" });
  return items.map((item) => ({ pk: String(item.pk), sk: String(item.sk), ids: idsOf(item) }));
}

/** Removes the id of a deleted conversation. */
export async function removePreviousId(table: Table, sessionKey: string, sessionId: string): Promise<void> {
  for (const { ids, ...key } of await previousItems(table, sessionKey)) {
    if (!ids.includes(sessionId)) continue;
    const left = ids.filter((id) => id !== sessionId);
    await (left.length === 0 ? table.delete(key) : table.put({ ...key, ids: left }));
  }
}

function idsOf(item: Item): string[] {
  return ((item.ids as unknown[] | undefined) ?? []).map(String);
}
