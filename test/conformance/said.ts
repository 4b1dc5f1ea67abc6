import type { Message } from "../../shared/protocol/messages.ts";
import { idHash, readSettled } from "../../shared/session/accepted-ids.ts";
import { archiveKey, partTime } from "../../shared/session/archive.ts";
import { previousKey } from "../../shared/session/previous-ids.ts";
import { messageKey, type SessionState } from "../../shared/session/state.ts";
import { readSummaryMessage } from "../../shared/session/summary-message.ts";
import type { Item } from "../../shared/world/world.ts";
import { bucketPartition } from "./model/bucket.ts";
import { itemName, type Snapshot, sessionKey } from "./model/snapshot.ts";

const agentId = "main";

/** Whether an entry is a reset or a compaction. */
export const isCommand = (id: string) => id.startsWith("/");

/** Every id that a sender of the check has, by what the session remembers of it. */
const sentIds = new Map<string, string>();

/** Notes the ids that a sender has, so that `acceptedIds` can name them. */
export function noteSent(ids: readonly string[]): void {
  for (const id of ids) sentIds.set(idHash(id), id);
}

/** Ids of accepted entries. Those of stops are remembered beside them. */
export function acceptedIds(session: SessionState | undefined): string[] {
  const { recent = {}, accepted } = session ?? {};
  const settled = readSettled(accepted).flatMap(({ hash }) => sentIds.get(hash) ?? []);
  return [...settled, ...Object.keys(recent).filter((id) => !id.startsWith("stop:"))];
}

/** The body of a message of the session's live conversation, JSON; undefined where there is none. */
function liveBody({ items }: Snapshot, { sessionId }: SessionState, seq: number): string | undefined {
  return bodyOf(items.get(itemName(messageKey(sessionKey, sessionId, seq))));
}

/**
 * All committed messages in order, each once, as JSON: those of conversations that were reset or compacted from their
 * archives, then the live ones; without the summaries. Undefined stands for one that is in no place where it should be.
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

/** The messages of `saidIn` that are there. */
export function transcriptOf(table: Snapshot): Message[] {
  return saidIn(table).flatMap((body) => (body === undefined ? [] : [JSON.parse(body) as Message]));
}

/** Items of messages that no conversation needs, and that no next writer overwrites and no TTL deletes. */
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

/** The ids of the conversations that were reset, in order. Undefined stands for one that was not noted. */
function endedIn({ items }: Snapshot, { resets = 0 }: SessionState): (string | undefined)[] {
  return Array.from({ length: resets }, (_, i) => i + 1).flatMap((reset) => {
    const noted = items.get(itemName(previousKey(sessionKey, reset)))?.ids;
    return Array.isArray(noted) ? noted.map(String) : [undefined];
  });
}

/** A compaction counts from its commit on; what it archived before is still live. */
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

/** A reset deletes the messages once it has noted that they are archived. */
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
