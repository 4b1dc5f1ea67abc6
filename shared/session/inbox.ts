import { randomUUID } from "node:crypto";
import { code, PeerError } from "../protocol/errors.ts";
import { absent, add, all, append, below, exists, setIfAbsent } from "../world/expression.ts";
import { ConditionFailed, type Item, type ItemValue, type Key, type Table } from "../world/world.ts";
import { acceptStep, notAccepted, wasAccepted } from "./accepted-ids.ts";
import type { InboxEntry } from "./inbox-entry.ts";
import { duePartition, metaKey, newSession, type SessionState, sessionPartition, toState } from "./state.ts";

/**
 * Limit of an inbox in bytes, checked before an entry is appended. With one more entry of `maxEntryBytes` the
 * item stays below DynamoDB's 400 KB.
 */
export const maxInboxBytes = 200_000;

/** The largest entry, in bytes of JSON: about 100,000 characters of text. */
export const maxEntryBytes = 100_000;

/** Minimum bytes counted for an entry, so that the limit also bounds the number of entries (about 100). */
const minEntryBytes = 2_000;

export interface Appended {
  /** False when the entry was already accepted earlier; nothing was written. */
  accepted: boolean;
  state: SessionState;
}

/** The bytes of an entry that count against `maxInboxBytes`. */
export function entryBytes(entry: InboxEntry): number {
  return Math.max(minEntryBytes, Buffer.byteLength(JSON.stringify(entry)));
}

/**
 * Appends an entry to a session's inbox; creates the session when it does not exist. One conditional write:
 * an id that was already accepted is not accepted again, so every caller may retry.
 * @throws PeerError 429, retryable, when the inbox is full; 413 for an entry above `maxEntryBytes`
 */
export async function appendEntry(
  table: Table,
  sessionKey: string,
  entry: InboxEntry,
  now: number,
): Promise<Appended> {
  const key = metaKey(sessionKey);
  const value = entry as unknown as ItemValue;
  const bytes = entryBytes(entry);
  if (bytes > maxEntryBytes) {
    const message = `message is ${bytes} bytes; the limit is ${maxEntryBytes}. Save it as a workspace file and mention the path.`;
    throw new PeerError(code.tooLarge, message);
  }
  for (let tries = 0; tries < 5; tries++) {
    try {
      const item = await table.update(
        key,
        [
          append("inbox", value),
          add("inboxBytes", bytes),
          acceptStep(entry.id, now),
          setIfAbsent("duePk", duePartition),
          setIfAbsent("dueAt", now),
        ],
        all(exists("pk"), notAccepted(entry.id), below("inboxBytes", maxInboxBytes)),
      );
      return { accepted: true, state: toState(item) };
    } catch (error) {
      if (!(error instanceof ConditionFailed)) throw error;
    }
    const found = await table.get(key);
    if (found) {
      const state = toState(found);
      if (wasAccepted(state, entry.id)) return { accepted: false, state };
      if (state.inboxBytes < maxInboxBytes) continue;
      throw new PeerError(code.rateLimited, "the session's inbox is full; try again in a moment", {
        retryable: true,
      });
    }
    const created = await createWith(table, key, sessionKey, entry, now);
    if (created) return { accepted: true, state: created };
  }
  throw new PeerError(code.rateLimited, "the session is very busy; try again in a moment", {
    retryable: true,
  });
}

/** Undefined when another writer created the session at the same time. */
async function createWith(
  table: Table,
  key: Key,
  sessionKey: string,
  entry: InboxEntry,
  now: number,
): Promise<SessionState | undefined> {
  const state: SessionState = {
    ...newSession(sessionKey, randomUUID(), now),
    inbox: [entry],
    inboxBytes: entryBytes(entry),
    recent: { [entry.id]: now },
  };
  const index = { listPk: sessionPartition, listSk: now, duePk: duePartition, dueAt: now };
  try {
    await table.put({ ...(state as unknown as Item), ...key, ...index }, absent("pk"));
    return state;
  } catch (error) {
    if (error instanceof ConditionFailed) return undefined;
    throw error;
  }
}
