import { arrivingMs, mediaOf, mediaPrefix } from "../../shared/media/media-store.ts";
import { textKey } from "../../shared/objects/text-store.ts";
import { code, PeerError } from "../../shared/protocol/errors.ts";
import { removeArchives } from "../../shared/recall/archived-turns.ts";
import { createSegments } from "../../shared/recall/segments.ts";
import { findArchives, listArchives, readArchiveLines } from "../../shared/session/archive.ts";
import { deleteBody, readBodies } from "../../shared/session/bodies.ts";
import type { Holder } from "../../shared/session/brief-hold.ts";
import { emptySession } from "../../shared/session/empty-session.ts";
import { deleteExtractions } from "../../shared/session/extraction.ts";
import { agentIdOf } from "../../shared/session/key/session-key.ts";
import { previousItems, removePreviousId } from "../../shared/session/previous-ids.ts";
import { readSession, sessionsOfAgent } from "../../shared/session/sessions.ts";
import { metaKey } from "../../shared/session/state.ts";
import { inGroups } from "../../shared/world/in-groups.ts";
import type { Bucket, Item, Key } from "../../shared/world/world.ts";

/** The stores of a deletion. */
type Deleting = Holder & { bucket: Bucket };

/** What a deletion removed. */
interface Deleted {
  /** The ids of the deleted conversations. */
  sessionIds: string[];
  /** Number of deleted objects in the bucket. */
  objects: number;
}

/** The names of stored texts. */
const hashPattern = /\b[0-9a-f]{64}\b/g;

/**
 * Deletes an archived conversation of a session: its archives, what searches know of it, and the texts that only it names.
 * What it left in the agent's files stays. After a failure, repeat it: what names other objects is deleted after them.
 * @throws PeerError 404 without such a conversation; 409 for the current one
 */
export async function deleteConversation(
  deleting: Deleting,
  sessionKey: string,
  sessionId: string,
): Promise<Deleted> {
  const { table, bucket } = deleting;
  const state = await readSession(table, sessionKey);
  if (state?.sessionId === sessionId) {
    const message = `${sessionId} is the current conversation of ${sessionKey}; reset the session first, or delete all of it`;
    throw new PeerError(code.conflict, message);
  }
  const [archive] = await archivesOf(bucket, agentIdOf(sessionKey), sessionId);
  const isArchived =
    archive !== undefined && (await bucket.head(archive))?.metadata.sessionKey === sessionKey;
  const ended = await previousItems(table, sessionKey);
  if (!isArchived && ended.every(({ ids }) => !ids.includes(sessionId))) {
    const message = `${sessionKey} has no conversation ${sessionId}; \`gsv session history ${sessionKey}\` shows its conversations`;
    throw new PeerError(code.notFound, message);
  }
  await deleteExtractions(table, sessionKey, sessionId);
  const objects = await deleteAll(deleting, sessionKey, [sessionId]);
  await removePreviousId(table, sessionKey, sessionId);
  return { sessionIds: [sessionId], objects };
}

/**
 * Deletes a session with all its conversations. Its item stays, empty and in no list, because its epoch fences late writes;
 * a message that arrives meanwhile begins a new conversation. After a failure, repeat it.
 * @throws PeerError 404 without such a session; 409 while it works
 */
export async function deleteSession(deleting: Deleting, sessionKey: string): Promise<Deleted> {
  const { table, bucket, now } = deleting;
  if (!(await readSession(table, sessionKey))) {
    const message = `there is no session ${sessionKey}; \`gsv session list\` shows the sessions`;
    throw new PeerError(code.notFound, message);
  }
  const begunAt = now();
  await emptySession(deleting, sessionKey);
  await deleteExtractions(table, sessionKey);
  const ended = await previousItems(table, sessionKey);
  const sessionIds = [...new Set(ended.flatMap(({ ids }) => ids))];
  const media = await deleteMedia(deleting, sessionKey, new Set(sessionIds), begunAt);
  const objects = await deleteAll(deleting, sessionKey, sessionIds);
  const items = await table.query({ pk: metaKey(sessionKey).pk });
  // A run that has begun since is read after the items: its results stay.
  const run = (await readSession(table, sessionKey))?.run?.runId;
  const isOver = ({ sk, at }: Item) => {
    const [kind, id = ""] = String(sk).split("#");
    return (kind === "M" && sessionIds.includes(id)) || (kind === "R" && id !== run) || Number(at) < begunAt;
  };
  await inGroups(items.filter(isOver), async (item) => deleteBody(bucket, await table.delete(keyOf(item))));
  for (const { pk, sk } of ended) await table.delete({ pk, sk });
  return { sessionIds, objects: objects + media };
}

const keyOf = ({ pk, sk }: Item): Key => ({ pk: String(pk), sk: String(sk) });

async function archivesOf(bucket: Bucket, agentId: string, sessionId: string): Promise<string[]> {
  const { parts, final } = await findArchives(bucket, agentId, sessionId);
  return final === undefined ? parts : [...parts, final];
}

/** Deletes conversations: what their archives name, then the archives, then what a search derives from archives. */
async function deleteAll(
  deleting: Deleting,
  sessionKey: string,
  sessionIds: readonly string[],
): Promise<number> {
  const { bucket } = deleting;
  const agentId = agentIdOf(sessionKey);
  const archives = (await inGroups(sessionIds, (id) => archivesOf(bucket, agentId, id))).flat();
  const bodies = await inGroups(sessionIds, (id) => keysUnder(bucket, `agents/${agentId}/sessions/${id}/`));
  const texts = await namedAlone(deleting, sessionKey, new Set(sessionIds), archives);
  const keys = [...texts, ...bodies.flat(), ...archives];
  const remove = (key: string) => bucket.delete(key);
  await inGroups([...texts, ...bodies.flat()], remove);
  await inGroups(archives, remove);
  // A search adds an archive that has no segment, so these are changed when it can no longer be read.
  const ids = new Set(sessionIds);
  const segments = createSegments(bucket);
  return keys.length + (await removeArchives(segments, agentId, ({ sessionId }) => ids.has(sessionId)));
}

/** The keys of stored texts, such as prompts, that are named by these conversations and by no other of the agent. */
async function namedAlone(
  deleting: Deleting,
  sessionKey: string,
  sessionIds: ReadonlySet<string>,
  archives: readonly string[],
): Promise<string[]> {
  const { bucket } = deleting;
  const agentId = agentIdOf(sessionKey);
  const stored = new Set(await keysUnder(bucket, textKey(agentId, "")));
  const named = new Set<string>();
  const note = (text: string) => {
    for (const [hash] of text.matchAll(hashPattern))
      if (stored.has(textKey(agentId, hash))) named.add(textKey(agentId, hash));
  };
  for (const key of archives) for await (const line of readArchiveLines(bucket, key)) note(line);
  const own = await liveBodies(deleting, sessionKey);
  for (const { sessionId, body } of own) if (sessionIds.has(sessionId)) note(body);
  const spare = (text: string) => {
    for (const [hash] of text.matchAll(hashPattern)) named.delete(textKey(agentId, hash));
  };
  for (const { sessionId, body } of own) if (!sessionIds.has(sessionId)) spare(body);
  for (const key of await listArchives(bucket, agentId)) {
    if (named.size === 0) break;
    if (archives.includes(key)) continue;
    for await (const line of readArchiveLines(bucket, key)) spare(line);
  }
  for (const other of await sessionsOfAgent(deleting.table, agentId)) {
    if (named.size === 0) break;
    const state = await readSession(deleting.table, other);
    const recorded = textKey(agentId, state?.promptHash ?? "none");
    for (const key of named) if (key.startsWith(recorded)) named.delete(key);
    if (other === sessionKey) continue;
    spare(JSON.stringify(state));
    for (const { body } of await liveBodies(deleting, other)) spare(body);
  }
  return [...named];
}

/** The messages of a session that are not archived, as JSON, with the conversations that they belong to. */
async function liveBodies(
  { table, bucket }: Deleting,
  sessionKey: string,
): Promise<{ sessionId: string; body: string }[]> {
  const items = await table.query({ pk: metaKey(sessionKey).pk, prefix: "M#" });
  const bodies = await readBodies(bucket, items);
  return items.map(({ sk }, i) => ({ sessionId: String(sk).split("#")[1] ?? "", body: bodies[i] ?? "" }));
}

/** Deletes the media of conversations: what they name, and what was stored before they ended. */
async function deleteMedia(
  deleting: Deleting,
  sessionKey: string,
  sessionIds: ReadonlySet<string>,
  endedAt: number,
): Promise<number> {
  const { table, bucket } = deleting;
  const { objects } = await bucket.list(mediaPrefix(sessionKey));
  if (objects.length === 0) return 0;
  const waiting = mediaOf((await readSession(table, sessionKey))?.inbox ?? []);
  const bodies = await liveBodies(deleting, sessionKey);
  const keys = objects.flatMap(({ key, lastModified }) => {
    const naming = bodies.filter(({ body }) => body.includes(key));
    const isKept = waiting.has(key) || naming.some(({ sessionId }) => !sessionIds.has(sessionId));
    return !isKept && (naming.length > 0 || lastModified < endedAt - arrivingMs) ? [key] : [];
  });
  await inGroups(keys, (key) => bucket.delete(key));
  return keys.length;
}

async function keysUnder(bucket: Bucket, prefix: string): Promise<string[]> {
  return (await bucket.list(prefix)).objects.map(({ key }) => key);
}
