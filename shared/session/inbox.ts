import { createHash, randomUUID } from "node:crypto";
import { code, PeerError } from "../protocol/errors.ts";
import {
  above,
  absent,
  add,
  all,
  any,
  append,
  below,
  type Condition,
  exists,
  lacks,
  remove,
  type Step,
  set,
} from "../world/expression.ts";
import {
  ConditionFailed,
  type Item,
  type ItemValue,
  type Key,
  succeeds,
  type Table,
} from "../world/world.ts";
import { dueFields, dueStepsIfAbsent, listFields } from "./due.ts";
import type { Correction, InboxEntry } from "./inbox-entry.ts";
import { metaKey, newSession, type SessionState, toState } from "./state.ts";

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
 * @throws PeerError 429, retryable, when the inbox is full; 503, retryable, for a refused id; 413 for an entry above
 * `maxEntryBytes`
 */
export async function appendEntry(
  table: Table,
  sessionKey: string,
  entry: InboxEntry,
  now: number,
): Promise<Appended> {
  const key = metaKey(sessionKey);
  const value = entry as unknown as ItemValue;
  const correction = correctionOf(entry);
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
          ...(correction ? [editStep(correction)] : []),
          ...dueStepsIfAbsent(key, now),
        ],
        all(
          exists("pk"),
          notAccepted(entry.id),
          below("inboxBytes", maxInboxBytes),
          ...(correction ? [isNewestEdit(correction)] : []),
        ),
      );
      return { accepted: true, state: toState(item) };
    } catch (error) {
      if (!(error instanceof ConditionFailed)) throw error;
    }
    const found = await table.get(key);
    if (found) {
      const state = toState(found);
      if (isRefused(state.recent[entry.id] ?? 0))
        throw new PeerError(code.unavailable, "the message goes to another session", { retryable: true });
      if (wasAccepted(state, entry.id) || (correction && isOutdated(state, correction)))
        return { accepted: false, state };
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

/**
 * Makes a session refuse an entry that goes to another session, also one that a paused process appends later.
 * @returns false when the session has accepted it
 */
export async function refuseId(table: Table, sessionKey: string, id: string, now: number): Promise<boolean> {
  const key = metaKey(sessionKey);
  const isNew = all(exists("pk"), notAccepted(id));
  if (await succeeds(table.update(key, [set(["recent", id], -now)], isNew))) return true;
  const found = await table.get(key);
  if (found) {
    const state = toState(found);
    return isRefused(state.recent[id] ?? 0) || !wasAccepted(state, id);
  }
  // An empty session that no list shows: otherwise the paused process could create it with the entry.
  const empty = { ...newSession(sessionKey, randomUUID(), now), recent: { [id]: -now } };
  const isCreated = await succeeds(table.put({ ...(empty as unknown as Item), ...key }, absent("pk")));
  return isCreated || refuseId(table, sessionKey, id, now);
}

/** Undefined when another writer created the session at the same time. */
async function createWith(
  table: Table,
  key: Key,
  sessionKey: string,
  entry: InboxEntry,
  now: number,
): Promise<SessionState | undefined> {
  const correction = correctionOf(entry);
  const state: SessionState = {
    ...newSession(sessionKey, randomUUID(), now),
    inbox: [entry],
    inboxBytes: entryBytes(entry),
    recent: { [entry.id]: now, ...(correction ? { [editKey(correction)]: -correction.at } : {}) },
  };
  const index = { ...listFields(key, now), ...dueFields(key, now) };
  try {
    await table.put({ ...(state as unknown as Item), ...key, ...index }, absent("pk"));
    return state;
  } catch (error) {
    if (error instanceof ConditionFailed) return undefined;
    throw error;
  }
}

/** Accepted ids kept to recognize retries: at least this many … */
const minRemembered = 50;

/** … plus those younger than this, in milliseconds … */
const rememberedMs = 3_600_000;

/** … but at most this many, because an item has at most 400 KB. */
const maxRemembered = 250;

/** Maximum number of ids that one write moves out of `recent`: a DynamoDB expression has at most 4 KB. */
const settledAtOnce = 100;

/** Maximum number of refused ids that a session remembers, for `rememberedMs`: until no process can append one. */
const maxRefused = 50;

/** Messages whose newest edit a session remembers, for a day after it: platforms redeliver edits, and their times are older. */
const [maxEdited, editedMs] = [10, 86_400_000];

/** Whether a time in `recent` is that of a refused id. */
const isRefused = (at: number) => at < 0;

/** Length of an id's hash, in characters of base64url: 48 bits (docs/decisions/accepted-ids.md has the arithmetic). */
const hashLength = 8;

function correctionOf(entry: InboxEntry): Correction | undefined {
  return entry.kind === "message" ? entry.correction : undefined;
}

const editedEnd = ":edited";

/** The key in `recent` of a session's newest edit of a message. Its negative time refuses an earlier edit that a paused process appends. */
const editKey = ({ of }: Correction) => `${of}${editedEnd}`;

/** The condition that a session has accepted neither this edit of a message nor a later one. */
export function isNewestEdit(correction: Correction): Condition {
  const path = ["recent", editKey(correction)];
  return any(absent(path), above(path, -correction.at));
}

/** The step that accepts an edit. */
export function editStep(correction: Correction): Step {
  return set(["recent", editKey(correction)], -correction.at);
}

/** Whether a session has accepted an edit, or a later one, and still remembers it. */
export function isOutdated({ recent }: Pick<SessionState, "recent">, correction: Correction): boolean {
  return (recent[editKey(correction)] ?? 0) <= -correction.at;
}

/**
 * The ids that a session has accepted. `recent` holds full ids with their times; every writer adds to it. A commit settles
 * them: it moves them to `accepted`, one text that only the lease holder writes. It contains hashes, oldest first; each group
 * of hashes from the last hours is followed by `@` and the hour. A refused id (`refuseId`) is in `recent` with its negative time,
 * and so is the newest edit of a message (`editKey`). They are never settled, because they would then look accepted.
 */
type AcceptedIds = Pick<SessionState, "recent" | "accepted">;

/** A settled id. `hour`: when it was accepted, in hours since 1970; 0 when it is older than `rememberedMs`. */
interface Settled {
  hash: string;
  hour: number;
}

/** Whether the session has accepted an id and still remembers it. */
export function wasAccepted({ recent, accepted = "" }: AcceptedIds, id: string): boolean {
  return Object.hasOwn(recent, id) || accepted.includes(idHash(id));
}

/** The condition that `wasAccepted` is false. */
export function notAccepted(id: string): Condition {
  return all(absent(["recent", id]), lacks("accepted", idHash(id)));
}

/** The step that accepts an id. @param now epoch ms */
export function acceptStep(id: string, now: number): Step {
  return set(["recent", id], now);
}

/**
 * Update steps that settle accepted ids and drop the oldest. They belong to the write that removes an entry from the inbox:
 * its condition names the entry, so that a late repeat cannot replace a newer `accepted` with an older one.
 * @param state the state before that write
 * @param taken the id of the removed entry; ids of entries that still wait are not settled
 * @param now epoch ms
 */
export function trimAcceptedIds(
  { recent, accepted, inbox }: AcceptedIds & Pick<SessionState, "inbox">,
  taken: string,
  now: number,
): Step[] {
  const waiting = new Set(inbox.map(({ id }) => id).filter((id) => id !== taken));
  const known = Object.entries(recent).filter(([id]) => !waiting.has(id));
  const ids = known
    .filter(([, at]) => !isRefused(at))
    .sort(([, a], [, b]) => a - b)
    .slice(0, settledAtOnce);
  const refused = known.filter(([, at]) => isRefused(at)).sort(([, a], [, b]) => a - b);
  const forgotten = (isEdit: boolean, max: number, ms: number) =>
    refused
      .filter(([id]) => id.endsWith(editedEnd) === isEdit)
      .filter(([, at], i) => i >= max || -at < now - ms);
  const gone = [
    ...ids,
    ...forgotten(false, maxRefused, rememberedMs),
    ...forgotten(true, maxEdited, editedMs),
  ].slice(0, settledAtOnce);
  if (gone.length === 0) return [];
  const settled = ids.map(([id, at]) => ({ hash: idHash(id), hour: hourOf(at) }));
  const all = [...readSettled(accepted), ...settled].sort((a, b) => a.hour - b.hour);
  const oldest = hourOf(now - rememberedMs);
  const kept = all
    .map(({ hash, hour }) => ({ hash, hour: hour < oldest ? 0 : hour }))
    .filter(({ hour }, i) => {
      const newer = all.length - 1 - i;
      return newer < minRemembered || (hour > 0 && newer < maxRemembered);
    });
  return [set("accepted", writeSettled(kept)), ...gone.map(([id]) => remove(["recent", id]))];
}

/** The hash that represents an id among the settled ones. */
export function idHash(id: string): string {
  return createHash("sha256").update(id).digest("base64url").slice(0, hashLength);
}

/** The settled ids of a session, oldest first. */
export function readSettled(accepted = ""): Settled[] {
  return accepted.split(" ").flatMap((group) => {
    const [hashes = "", hour = 0] = group.split("@");
    const count = hashes.length / hashLength;
    const hashAt = (i: number) => hashes.slice(i * hashLength, (i + 1) * hashLength);
    return Array.from({ length: count }, (_, i) => ({ hash: hashAt(i), hour: Number(hour) }));
  });
}

/** Hours since 1970. @param at epoch ms */
const hourOf = (at: number) => Math.floor(at / 3_600_000);

function writeSettled(settled: readonly Settled[]): string {
  const groups = new Map<number, string>();
  for (const { hash, hour } of settled) groups.set(hour, (groups.get(hour) ?? "") + hash);
  return [...groups].map(([hour, hashes]) => (hour === 0 ? hashes : `${hashes}@${hour}`)).join(" ");
}
