import type { Message } from "../../shared/protocol/messages.ts";
import { archiveKey, partTime } from "../../shared/session/archive.ts";
import { idHash, readSettled } from "../../shared/session/inbox.ts";
import { previousKey } from "../../shared/session/previous-ids.ts";
import { messageKey, type SessionState } from "../../shared/session/state.ts";
import { readSummaryMessage } from "../../shared/session/summary-message.ts";
import type { Item } from "../../shared/world/world.ts";
import { bucketPartition } from "./model/bucket.ts";
import { itemName, type Snapshot, sessionKey } from "./model/snapshot.ts";

const agentId = "main";

/** Whether an entry is a reset or a compaction. */
export const isCommand = (id: string) => id.startsWith("/");

/** All ids of the check's senders, by the hash that the session stores. */
const sentIds = new Map<string, string>();

/** Records the ids of a sender, so that `acceptedIds` can name them. */
export function noteSent(ids: readonly string[]): void {
  for (const id of ids) sentIds.set(idHash(id), id);
}

/** Ids of accepted entries. Those of stops are stored with them, but left out here. */
export function acceptedIds(session: SessionState | undefined): string[] {
  const { recent = {}, accepted } = session ?? {};
  const settled = readSettled(accepted).flatMap(({ hash }) => sentIds.get(hash) ?? []);
  return [...settled, ...Object.keys(recent).filter((id) => !id.startsWith("stop:"))];
}

/** The body of a live message, as JSON; undefined if it does not exist. */
function liveBody({ items }: Snapshot, { sessionId }: SessionState, seq: number): string | undefined {
  return bodyOf(items.get(itemName(messageKey(sessionKey, sessionId, seq))));
}

/**
 * All committed messages in order, each once, as JSON and without the summaries: first those in the archives of resets
 * and compactions, then the live ones. Undefined marks a missing message.
 */
export function saidIn(table: Snapshot): (string | undefined)[] {
  const known = saidBefore.get(table);
  if (known) return known;
  const said = table.session ? collect(table, table.session) : [];
  saidBefore.set(table, said);
  return said;
}

const saidBefore = new WeakMap<Snapshot, (string | undefined)[]>();

function collect(table: Snapshot, session: SessionState): (string | undefined)[] {
  const before = endedIn(table, session).flatMap((id) =>
    id === undefined ? [id] : [...partsOf(table, id, session), ...finalOf(table, id)],
  );
  const all = [...before, ...partsOf(table, session.sessionId, session), ...liveOf(table, session)];
  return all.filter((body) => body === undefined || !readSummaryMessage(JSON.parse(body) as Message));
}

/** The existing messages of `saidIn`. */
export function transcriptOf(table: Snapshot): Message[] {
  return saidIn(table).flatMap((body) => (body === undefined ? [] : [JSON.parse(body) as Message]));
}

/** Messages that no conversation needs, that no later writer overwrites and no TTL deletes. */
export function leftoverMessages({ items, session }: Snapshot): string[] {
  if (!session) return [];
  const prefix = itemName(messageKey(sessionKey, "", 0))
    .split("#")
    .slice(0, -2)
    .join("#");
  const first = itemName(messageKey(sessionKey, session.sessionId, session.first));
  const own = first.slice(0, first.lastIndexOf("#") + 1);
  return [...items].flatMap(([name, item]) => {
    const isMessage = name.startsWith(`${prefix}#`) && item.expiresAt === undefined;
    return isMessage && !(name.startsWith(own) && name >= first) ? [name.slice(prefix.length - 1)] : [];
  });
}

/** The ids of the conversations that were reset, in order. Undefined marks one that was not recorded. */
function endedIn({ items }: Snapshot, { resets = 0 }: SessionState): (string | undefined)[] {
  return Array.from({ length: resets }, (_, i) => i + 1).flatMap((reset) => {
    const noted = items.get(itemName(previousKey(sessionKey, reset)))?.ids;
    return Array.isArray(noted) ? noted.map(String) : [undefined];
  });
}

/** A compaction is valid from its commit on; before that, the messages in its archive are still live. */
function partsOf(table: Snapshot, sessionId: string, { compactedAt = 0 }: SessionState) {
  const prefix = archiveName(archiveKey(agentId, sessionId).replace(/\.jsonl\.gz$/, "-part"));
  const names = [...table.items.keys()].filter((name) => name.startsWith(prefix));
  return names
    .filter((name) => partTime(name) <= compactedAt)
    .sort()
    .flatMap((name) => archived(table, name));
}

function finalOf(table: Snapshot, sessionId: string) {
  return archived(table, archiveName(archiveKey(agentId, sessionId)));
}

/** A reset deletes the messages once it has recorded their archive. */
function liveOf(table: Snapshot, session: SessionState) {
  const { first, head, sessionId, resetting } = session;
  if (resetting?.archivedTo !== undefined && !resetting.result) return finalOf(table, sessionId);
  return Array.from({ length: head - first + 1 }, (_, i) => liveBody(table, session, first + i));
}

const archiveName = (key: string) => itemName({ pk: bucketPartition, sk: key });

/** An empty conversation has no archive. */
function archived({ items }: Snapshot, name: string): string[] {
  const body = bodyOf(items.get(name));
  return body === undefined ? [] : (JSON.parse(body) as unknown[]).map((message) => JSON.stringify(message));
}

function bodyOf(item: Item | undefined): string | undefined {
  return typeof item?.body === "string" ? item.body : undefined;
}
