import { createTwoFilesPatch } from "diff";
import { exportLines } from "../../../shared/objects/exports.ts";
import { staticRef } from "../../../shared/objects/hash.ts";
import { parseImport } from "../../../shared/objects/imports.ts";
import { promptUses } from "../../../shared/objects/locked-objects.ts";
import {
  type Conversation,
  findEntry,
  type ObjectEntry,
  objectsOf,
  unwrapped,
  versionsOf,
  wantedVersion,
} from "../../../shared/objects/object-entries.ts";
import { readText } from "../../../shared/objects/text-store.ts";
import { code, PeerError } from "../../../shared/protocol/errors.ts";
import type { Message } from "../../../shared/protocol/messages.ts";
import type { Params } from "../../../shared/protocol/methods.ts";
import type { ListedObject, ListedVersion, MemoryObject } from "../../../shared/protocol/objects.ts";
import type { Results } from "../../../shared/protocol/results.ts";
import { importConversation } from "../../../shared/session/import-conversation.ts";
import { keyRules } from "../../../shared/session/key/routing.ts";
import { agentIdOf, clientKinds, sessionKind } from "../../../shared/session/key/session-key.ts";
import { readSession } from "../../../shared/session/sessions.ts";
import { readConversation } from "../../../shared/session/whole-conversation.ts";
import type { Bucket, Table } from "../../../shared/world/world.ts";
import type { Gateway } from "../gateway.ts";
import { canonicalKey } from "./chat.ts";
import { conversationOwner } from "./history.ts";
import { clientChanges, setsOf } from "./session-sets.ts";

/** Max size of a conversation whose objects are read, in bytes of its messages. */
const maxObjectBytes = 16 * 1024 * 1024;

/** Max size of an exported conversation, in bytes of its messages. */
const maxExportBytes = 64 * 1024 * 1024;

/** Max prompt texts that are read in parallel. */
const maxReads = 20;

/** Max time for comparing two texts, in milliseconds. */
const maxDiffMs = 5000;

export async function listObjects(
  gateway: Gateway,
  { type, offset, limit, ...name }: Params<"object.list">,
): Promise<Results["object.list"]> {
  const conversation = await openObjects(gateway, name);
  const { sessionKey, sessionId } = conversation;
  const entries = objectsOf(conversation).filter((entry) => type === undefined || entry.type === type);
  const objects = entries.slice(offset, offset + limit).map(listed);
  return { sessionKey, sessionId, objects, count: entries.length };
}

export async function objectHistory(
  gateway: Gateway,
  { before = Number.POSITIVE_INFINITY, limit, ...name }: Params<"object.history">,
): Promise<Results["object.history"]> {
  const entry = await openObject(gateway, name);
  const versions = versionsOf(entry.moments);
  const { id, type } = entry;
  const earlier = versions.filter(({ version_no }) => version_no < before);
  const newest = earlier.slice(-limit).map((moment) => listedVersion(entry, moment));
  return { id, type, versions: newest, count: versions.length };
}

/** @throws PeerError 404 if there is no such version */
export async function getObject(gateway: Gateway, wanted: Params<"object.get">): Promise<MemoryObject> {
  const entry = await openObject(gateway, wanted);
  const found = wantedVersion(entry, wanted);
  if (found !== undefined) return entry.build(found);
  const { id, version, at, message, hash } = wanted;
  const which = Object.entries({ version, at, message, hash }).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name} ${value}`],
  );
  const text = `object ${id} has no version with ${which.join(", ")}; object.history lists its versions`;
  throw new PeerError(code.notFound, text);
}

export async function compareObjects(
  gateway: Gateway,
  { from, to }: Params<"object.diff">,
): Promise<Results["object.diff"]> {
  const [before, after] = await Promise.all([getObject(gateway, from), getObject(gateway, to)]);
  const same = before.content === after.content;
  const diff = same ? "" : difference(before, after);
  return { from: staticRef(before), to: staticRef(after), same, diff };
}

/** @throws PeerError 413 if the comparison is too slow */
function difference(before: MemoryObject, after: MemoryObject): string {
  const nameOf = ({ id, version_no }: MemoryObject) => `${id} version ${version_no}`;
  const patch = createTwoFilesPatch(
    ...([nameOf(before), nameOf(after)] as const),
    ...([before.content ?? "", after.content ?? "", undefined, undefined] as const),
    { timeout: maxDiffMs },
  );
  if (patch !== undefined) return patch.replace(/^=+\n/, "");
  const message = "the two contents are too different for a comparison by line; get each with object.get";
  throw new PeerError(code.tooLarge, message);
}

function listed({ id, type, locked, moments, summary }: ObjectEntry): ListedObject {
  const { version_no = 1, at = 0, message = 0 } = moments.at(-1) ?? {};
  return { id, type, locked, version_no, at, message, ...summary };
}

function listedVersion(
  entry: ObjectEntry,
  { version_no, message }: ObjectEntry["moments"][number],
): ListedVersion {
  const object = entry.build(version_no);
  const { id, ...ref } = staticRef(object);
  const { parent_refs } = object.provenance;
  return { ...ref, message, ...(parent_refs ? { parent_refs } : {}) };
}

/** A conversation of a session; by default the current one. */
interface ConversationName {
  sessionKey: string;
  sessionId?: string;
}

/**
 * Reads a conversation, without the texts of its prompts.
 * @throws PeerError 404 if there is none, or it belongs to another session; 413 if it is too large
 */
async function openObjects(gateway: Gateway, name: ConversationName): Promise<Conversation> {
  const sessionKey = await canonicalKey(gateway, name.sessionKey);
  const agentId = agentIdOf(sessionKey);
  const state = await readSession(gateway.table, sessionKey);
  const sessionId = name.sessionId ?? state?.sessionId;
  if (sessionId === undefined)
    throw new PeerError(code.notFound, `session ${sessionKey} has no objects: it has no messages yet`);
  const read = await readConversation(gateway, { agentId, sessionId, sessionKey }, maxObjectBytes);
  if (read.sessionKey !== sessionKey) {
    const message = `no conversation ${sessionId} of session ${sessionKey}: name its session, or one of its conversations (session.history lists them)`;
    throw new PeerError(code.notFound, message);
  }
  const { messages } = read;
  const isLive = state?.sessionId === sessionId;
  const changes = isLive ? await clientChanges(gateway, state, messages.length) : [];
  return { agentId, sessionKey, sessionId, messages, prompts: new Map(), setsAt: setsOf(messages, changes) };
}

/**
 * Finds an object by its id, in the conversation that the id names, if it names one.
 * @throws PeerError 404 if there is none
 */
async function openObject(gateway: Gateway, name: ConversationName & { id: string }): Promise<ObjectEntry> {
  const id = unwrapped(name.id);
  const conversation = await openObjects(gateway, { sessionId: sessionIdIn(id), ...name });
  const needsPrompts = /^(session|system_prompt):/.test(id);
  const prompts = needsPrompts ? await readPrompts(gateway, conversation) : conversation.prompts;
  const entry = findEntry(objectsOf({ ...conversation, prompts }), id);
  if (entry) return entry;
  const { sessionId, sessionKey } = conversation;
  const message = `no object ${id} in conversation ${sessionId} of session ${sessionKey}; object.list lists its objects`;
  throw new PeerError(code.notFound, message);
}

/** The ids of chats and prompts end with the id of their conversation. */
function sessionIdIn(id: string): string | undefined {
  return /^(?:chat|system_prompt:[^:]+):([\w-]{1,64})$/.exec(id)?.[1];
}

async function readPrompts(
  { bucket }: Gateway,
  { agentId, messages }: { agentId: string; messages: readonly Message[] },
): Promise<ReadonlyMap<string, string>> {
  const hashes = [...new Set(promptUses(messages).map(({ hash }) => hash))];
  const texts = new Map<string, string>();
  for (let start = 0; start < hashes.length; start += maxReads) {
    const reads = hashes.slice(start, start + maxReads).map(async (hash) => {
      const text = await readText(bucket, agentId, hash);
      if (text !== undefined) texts.set(hash, text);
    });
    await Promise.all(reads);
  }
  return texts;
}

export async function exportConversation(
  gateway: Gateway,
  { sessionKey, agentId, sessionId, ...request }: Params<"session.export">,
): Promise<Results["session.export"]> {
  const owner = await conversationOwner(gateway, { sessionKey, agentId });
  const id = sessionId ?? (await currentConversation(gateway, owner.sessionKey));
  return readExportPage(gateway, { ...request, ...owner, sessionId: id });
}

/** @throws PeerError 400 without a session, 404 if it has no messages */
async function currentConversation({ table }: Gateway, sessionKey: string | undefined): Promise<string> {
  if (sessionKey === undefined)
    throw new PeerError(code.badRequest, "sessionId: name a conversation, or a session by sessionKey");
  const state = await readSession(table, sessionKey);
  if (!state) throw new PeerError(code.notFound, `sessionKey: ${sessionKey} has no messages yet`);
  return state.sessionId;
}

type ExportRequest = Omit<Params<"session.export">, "agentId" | "sessionId"> & {
  agentId: string;
  sessionId: string;
};

/**
 * A page of an export. All pages contain the messages and parts that existed at the first page.
 * @throws PeerError 404 if the conversation does not exist, 400 for an invalid `next`, 413 if it is too large
 */
export async function readExportPage(
  store: { table: Table; bucket: Bucket },
  { agentId, format, redact, maxBytes, next, ...name }: ExportRequest,
): Promise<Results["session.export"]> {
  const read = await readConversation(store, { agentId, ...name }, maxExportBytes);
  const { sessionKey } = read;
  const { sessionId } = name;
  const [messages, parts, offset] =
    next === undefined ? [read.messages.length, read.parts.length, 0] : parsePlace(next);
  const conversation = {
    ...{ agentId, sessionId, sessionKey },
    messages: read.messages.slice(0, messages),
    parts: read.parts.slice(0, parts),
  };
  // A UTF-16 unit has at most 3 bytes of UTF-8, an escaped character 2.
  const max = Math.floor(maxBytes / 3);
  const { text, isEnd } = cut(exportLines(conversation, format, redact), offset, max);
  return {
    ...{ sessionId, agentId, format, text },
    ...(sessionKey === undefined ? {} : { sessionKey }),
    ...(isEnd ? {} : { next: [messages, parts, offset + text.length].join(".") }),
  };
}

/** The numbers of messages and parts at the first page, and the offset of the next page in the text. */
function parsePlace(next: string): [messages: number, parts: number, offset: number] {
  if (!/^\d{1,9}\.\d{1,9}\.\d{1,10}$/.test(next))
    throw new PeerError(code.badRequest, "next: expected the value of an earlier page");
  const [messages = 0, parts = 0, offset = 0] = next.split(".").map(Number);
  return [messages, parts, offset];
}

/** At most `max` characters of the lines after `offset`, including line ends. */
function cut(lines: Iterable<string>, offset: number, max: number): { text: string; isEnd: boolean } {
  let before = 0;
  let text = "";
  for (const line of lines) {
    const ended = `${line}\n`;
    if (text.length >= max) return { text, isEnd: false };
    const from = Math.max(0, offset - before);
    before += ended.length;
    if (from >= ended.length) continue;
    const piece = ended.slice(from, from + max - text.length);
    text += piece;
    if (from + piece.length < ended.length) return { text, isEnd: false };
  }
  return { text, isEnd: true };
}

/** @throws PeerError 400 for a session with other people, or for invalid lines */
export async function importLines(
  gateway: Gateway,
  { sessionKey: given, importId: sessionId, format, lines }: Params<"session.import">,
): Promise<Results["session.import"]> {
  const sessionKey = await canonicalKey(gateway, given);
  const kind = sessionKind(sessionKey, keyRules(await gateway.configuration.load()));
  if (!clientKinds.includes(kind))
    throw new PeerError(
      code.badRequest,
      `sessionKey: ${sessionKey} is a conversation with others; import into one that only your clients use, such as agent:main:imported`,
    );
  const messages = parseImport(lines, format);
  await importConversation(gateway, { sessionKey, sessionId, messages });
  return { ok: true, sessionKey, sessionId, messages: messages.length };
}
