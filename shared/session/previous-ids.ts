import type { Item, Key, Table } from "../world/world.ts";
import type { SessionState } from "./state.ts";

/** Earlier ids that a session tells of. The bucket keeps the archives of all. */
export const maxPreviousIds = 500;

/** Most ids that an item of an earlier version held by itself: with fewer than so many, it had no other item for them. */
const heldAlone = 20;

/** What a session's item says of its earlier ids. */
type Earlier = Pick<SessionState, "sessionKey" | "sessionId" | "resets" | "previousSessionIds">;

/** The item that the reset of this number has written, from 1 on. `ids`: the conversation that it ended. */
export function previousKey(sessionKey: string, reset: number): Key {
  return { pk: `S#${sessionKey}`, sk: `PREVIOUS#${String(reset).padStart(10, "0")}` };
}

/** The earlier ids of a session, oldest first: at most `maxPreviousIds`, the newest ones. */
export async function readPreviousIds(table: Table, session: Earlier): Promise<string[]> {
  const { sessionKey, sessionId, resets = 0, previousSessionIds: held = [] } = session;
  if (resets === 0 && held.length < heldAlone) return held;
  // The prefix holds for the item `PREVIOUS` too, in which earlier versions kept what the session's item did not.
  const wanted = { prefix: "PREVIOUS", descending: true, limit: maxPreviousIds + 1 };
  const items = await table.query({ pk: `S#${sessionKey}`, ...wanted });
  const ids = new Set([...items.reverse().flatMap(idsOf), ...held]);
  // A reset in progress has written its item, and the conversation goes on until its commit.
  ids.delete(sessionId);
  return [...ids].slice(-maxPreviousIds);
}

/**
 * Notes the id of the conversation that a reset ends, in an item of its own, with the ids that an earlier version has left
 * in the session's item. A repeat writes the same.
 * @returns the number of the reset, which the reset's commit puts into the session's item as `resets`
 */
export async function recordPreviousId(table: Table, session: Earlier): Promise<number> {
  const { sessionKey, sessionId, resets = 0, previousSessionIds: held = [] } = session;
  await table.put({ ...previousKey(sessionKey, resets + 1), ids: [...held, sessionId] });
  return resets + 1;
}

function idsOf(item: Item): string[] {
  return ((item.ids as unknown[] | undefined) ?? []).map(String);
}
