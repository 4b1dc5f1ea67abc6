import type { Message } from "../protocol/messages.ts";
import type { MemoryObject, ObjectType, StaticRef } from "../protocol/objects.ts";
import { fileObject, filesOf, fileType, type TouchedFile } from "./file.ts";
import { staticRef } from "./hash.ts";
import {
  type ConversationIds,
  chatId,
  chatObject,
  type ObjectSets,
  promptId,
  promptObject,
  promptUses,
  sessionObject,
  sessionObjectId,
} from "./locked-objects.ts";
import { type Call, callsOf, displayOf, toolcallObject, toolOf } from "./toolcall.ts";
import { turnsAt } from "./turns.ts";

/** A whole conversation, from which objects are made. */
export interface Conversation extends ConversationIds {
  messages: readonly Message[];
  /** The stored texts of its prompts, by hash. */
  prompts: ReadonlyMap<string, string>;
  /** The sets after the first n messages. The same object as for n - 1 if message n changed nothing. */
  setsAt(n: number): ObjectSets;
}

/** When a version of an object was made, or used again. */
export interface Moment {
  version_no: number;
  /** Number of the message that made it; messages are counted from 1. */
  message: number;
  /** Epoch ms. */
  at: number;
}

/** An object of a conversation with all its versions. */
export interface ObjectEntry {
  id: string;
  type: ObjectType;
  locked: boolean;
  /** Never empty. In the order of the messages; a prompt occurs once for each use. */
  moments: readonly Moment[];
  /** Fields of its type, for lists. */
  summary: Record<string, string | number | null>;
  /** @throws Error for a version without a moment */
  build(version: number): MemoryObject;
}

/**
 * The objects of a conversation: the session, its prompt and its chat, then calls and files in the order of their first
 * occurrence. A conversation without messages has none.
 */
export function objectsOf(conversation: Conversation): ObjectEntry[] {
  const { messages } = conversation;
  if (messages.length === 0) return [];
  const calls = callsOf(messages);
  const files = filesOf(calls);
  const touched = filesByCall(files);
  const prompt = promptEntry(conversation);
  const turns = turnsAt(messages);
  const chats = chatEntry(conversation, calls, turns);
  const made = [
    ...calls.map((call) => toolcallEntry(call, touched.get(call.id) ?? [], chats, turns)),
    ...files.map(fileEntry),
  ];
  const first = ({ moments }: ObjectEntry) => moments[0]?.message ?? 0;
  return [
    sessionEntry(conversation, prompt),
    ...(prompt ? [prompt] : []),
    chats,
    ...made.sort((a, b) => first(a) - first(b)),
  ];
}

type Turns = ReturnType<typeof turnsAt>;

/** The ids of the files that each call touched. */
function filesByCall(files: readonly TouchedFile[]): ReadonlyMap<string, readonly string[]> {
  const touched = new Map<string, string[]>();
  for (const { id, calls } of files)
    for (const call of calls) touched.set(call, [...(touched.get(call) ?? []), id]);
  return touched;
}

function sessionEntry(conversation: Conversation, prompt: ObjectEntry | undefined): ObjectEntry {
  const { sessionKey, sessionId, messages, setsAt } = conversation;
  const always = [...(prompt ? [prompt.id] : []), chatId(sessionId)];
  const promptVersions = versionsOf(prompt?.moments ?? []);
  const promptsAt = (n: number) => promptVersions.filter(({ message }) => message <= n);
  let made: { sets: ObjectSets; moment: Moment }[] | undefined;
  const states = () => {
    if (made) return made;
    made = [];
    const isNew = new Set(promptVersions.map(({ message }) => message));
    for (const [i, { timestamp: at }] of messages.entries()) {
      const sets = setsAt(i + 1);
      if (sets === made.at(-1)?.sets && !isNew.has(i + 1)) continue;
      made.push({ sets, moment: { version_no: made.length + 1, message: i + 1, at } });
    }
    return made;
  };
  return {
    id: sessionObjectId(sessionKey),
    type: "session",
    locked: true,
    get moments() {
      return states().map(({ moment }) => moment);
    },
    summary: { session_id: sessionId },
    build(version) {
      const { sets, moment } = existing(states()[version - 1], version);
      const refs: StaticRef[] = promptsAt(moment.message).flatMap(({ version_no }) =>
        prompt ? [staticRef(prompt.build(version_no))] : [],
      );
      const shown = { ...sets, active: [...always, ...sets.active] };
      return sessionObject(conversation, moment, refs, shown);
    },
  };
}

function promptEntry(conversation: Conversation): ObjectEntry | undefined {
  const { agentId, sessionId, messages, prompts } = conversation;
  const uses = promptUses(messages);
  if (uses.length === 0) return undefined;
  return {
    id: promptId(agentId, sessionId),
    type: "system_prompt",
    locked: true,
    moments: uses.map(({ version_no, n, at }) => ({ version_no, message: n, at })),
    summary: {},
    build(version) {
      const use = existing(
        uses.find(({ version_no }) => version_no === version),
        version,
      );
      return promptObject(conversation, use, prompts.get(use.hash) ?? null);
    },
  };
}

function chatEntry(conversation: Conversation, calls: readonly Call[], turns: Turns): ObjectEntry {
  const { messages, sessionId } = conversation;
  const built = new Map<number, MemoryObject>();
  return {
    id: chatId(sessionId),
    type: "chat",
    locked: true,
    moments: messages.map(({ timestamp: at }, i) => ({ version_no: i + 1, message: i + 1, at })),
    summary: { turn_count: turns(messages.length).length },
    build(version) {
      existing(messages[version - 1], version);
      const object = built.get(version) ?? chatObject(conversation, messages, calls, turns(version), version);
      // Keep only the newest: a long chat has many versions, each as large as the chat.
      built.clear();
      built.set(version, object);
      return object;
    },
  };
}

function toolcallEntry(call: Call, touched: readonly string[], chat: ObjectEntry, turns: Turns): ObjectEntry {
  const { id, block, result, n, resultN, at } = call;
  const tool = toolOf(call);
  const moments: Moment[] = [{ version_no: 1, message: n, at }];
  if (result && resultN) moments.push({ version_no: 2, message: resultN, at: result.timestamp });
  const args_display = displayOf(call);
  const status = result ? (result.isError ? "fail" : "ok") : "pending";
  return {
    id,
    type: "toolcall",
    locked: false,
    moments,
    summary: {
      ...{ tool, args_display, status },
      ...(block?.providerId === undefined ? {} : { provider_id: block.providerId }),
    },
    build(version) {
      existing(moments[version - 1], version);
      const place = { ...staticRef(chat.build(n)), turn: turns(n).length - 1 };
      return toolcallObject(call, version === 2 ? 2 : 1, place, version === 2 ? touched : []);
    },
  };
}

function fileEntry(file: TouchedFile): ObjectEntry {
  const last = file.versions.at(-1);
  return {
    id: file.id,
    type: "file",
    locked: false,
    moments: file.versions.map(({ version_no, n, at }) => ({ version_no, message: n, at })),
    summary: {
      path: last?.deleted ? null : file.path,
      file_type: fileType(file.path),
      char_count: last?.content?.length ?? 0,
    },
    build: (version) => fileObject(file, existing(file.versions[version - 1], version)),
  };
}

function existing<T>(value: T | undefined, version: number): T {
  if (value === undefined) throw new Error(`there is no version ${version}`);
  return value;
}

/** The versions of an object, each at its first moment, by number. */
export function versionsOf(moments: readonly Moment[]): Moment[] {
  const first = new Map<number, Moment>();
  for (const moment of moments) if (!first.has(moment.version_no)) first.set(moment.version_no, moment);
  return [...first.values()].sort((a, b) => a.version_no - b.version_no);
}

/** Selects a version of an object; the newest if no field is set. */
export interface Wanted {
  version?: number;
  /** As of this time; epoch ms. */
  at?: number;
  /** As of this message; for a prompt, the version that the reply with this number was made from. */
  message?: number;
  /** The newest with this content or object hash, among the newest `maxSearched`. */
  hash?: string;
}

/** Maximum versions to build in search of a hash, because each version of a long chat is slow to build. */
const maxSearched = 100;

/**
 * The object with this id, or the only call with this provider id. The id may be in double brackets, as in references
 * that models write.
 */
export function findEntry(entries: readonly ObjectEntry[], given: string): ObjectEntry | undefined {
  const id = unwrapped(given);
  const named = entries.filter(({ summary }) => summary.provider_id === id);
  return entries.find((entry) => entry.id === id) ?? (named.length === 1 ? named[0] : undefined);
}

/** An id without the double brackets of a reference. */
export function unwrapped(id: string): string {
  return /^\[\[(.+)\]\]$/s.exec(id)?.[1] ?? id;
}

/** The number of the wanted version. Undefined if there is none. */
export function wantedVersion(
  entry: ObjectEntry,
  { version, at, message, hash }: Wanted,
): number | undefined {
  const { moments, build } = entry;
  if (hash !== undefined) {
    const newest = versionsOf(moments).reverse().slice(0, maxSearched);
    return newest.find(({ version_no }) => {
      const { content_hash, object_hash } = build(version_no);
      return content_hash === hash || object_hash === hash;
    })?.version_no;
  }
  if (version !== undefined) return moments.find(({ version_no }) => version_no === version)?.version_no;
  const until = (moment: Moment) =>
    (at === undefined || moment.at <= at) && (message === undefined || moment.message <= message);
  return moments.findLast(until)?.version_no;
}
