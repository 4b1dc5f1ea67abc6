import type { PreviousConversation } from "../protocol/session-results.ts";
import type { Item, Key, Table } from "../world/world.ts";
import type { SessionState } from "./state.ts";

/** Maximum number of earlier ids that a session reports. The bucket has the archives of all. */
export const maxPreviousIds = 500;

/** How many ids an earlier version stored in the session's item: with fewer, there is no separate item. */
const heldAlone = 20;

/** The fields of a session's item about its earlier ids. */
type Earlier = Pick<SessionState, "sessionKey" | "sessionId" | "resets" | "previousSessionIds" | "context"> &
  Partial<Pick<SessionState, "updatedAt">>;

/** The key of the item that a reset wrote; resets are numbered from 1. Its `ids` has the conversation that it ended. */
export function previousKey(sessionKey: string, reset: number): Key {
  return { pk: `S#${sessionKey}`, sk: `PREVIOUS#${String(reset).padStart(10, "0")}` };
}

/** The earlier ids of a session, oldest first: at most `maxPreviousIds`, the newest ones. */
export async function readPreviousIds(table: Table, session: Earlier): Promise<string[]> {
  return (await readPrevious(table, session)).map(({ sessionId }) => sessionId);
}

/** The earlier conversations of a session, oldest first: at most `maxPreviousIds`, the newest ones. */
export async function readPrevious(table: Table, session: Earlier): Promise<PreviousConversation[]> {
  const { sessionKey, sessionId, resets = 0, previousSessionIds: held = [] } = session;
  if (resets === 0 && held.length < heldAlone) return held.map((id) => ({ sessionId: id }));
  // The prefix also matches the item `PREVIOUS`, where earlier versions stored the ids beyond those in the session's item.
  const wanted = { prefix: "PREVIOUS", descending: true, limit: maxPreviousIds + 1 };
  const items = await table.query({ pk: `S#${sessionKey}`, ...wanted });
  const found = new Map<string, PreviousConversation>();
  for (const one of [...items.reverse().flatMap(conversationsOf), ...held.map((id) => ({ sessionId: id }))])
    if (!found.has(one.sessionId)) found.set(one.sessionId, one);
  // A reset in progress has written its item, but its conversation is current until the commit.
  found.delete(sessionId);
  return [...found.values()].slice(-maxPreviousIds);
}

/**
 * Records the id and last activity of the conversation that a reset ends in a separate item, together with ids that an earlier
 * version left in the session's item. A repeat writes the same item.
 * @returns the number of the reset, which the reset's commit stores in the session's item as `resets`
 */
export async function recordPreviousId(table: Table, session: Earlier): Promise<number> {
  const { sessionKey, sessionId, updatedAt, resets = 0, previousSessionIds: held = [] } = session;
  const ids = [...held, sessionId];
  await table.put({ ...previousKey(sessionKey, resets + 1), ids, ...(updatedAt ? { at: updatedAt } : {}) });
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

/** The conversations of an item. Its time is that of the last one. */
function conversationsOf(item: Item): PreviousConversation[] {
  const ids = idsOf(item);
  return ids.map((sessionId, index) => ({
    sessionId,
    ...(item.at !== undefined && index === ids.length - 1 ? { lastActiveAt: Number(item.at) } : {}),
  }));
}

function idsOf(item: Item): string[] {
  return ((item.ids as unknown[] | undefined) ?? []).map(String);
}
