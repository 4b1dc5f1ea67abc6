import type { AssistantMessage, ImageBlock, TextBlock, UserMessage } from "./messages.ts";

/** The types of objects. The set is closed. */
export const objectTypes = ["system_prompt", "toolcall", "chat", "session", "file"] as const;

export type ObjectType = (typeof objectTypes)[number];

/** Where an object came from. `parent_refs`: ids of the objects that it was made from. */
export interface Provenance {
  origin: string;
  generator: "human" | "agent" | "tool" | "system";
  parent_refs?: string[];
}

/** The three hashes of an object: SHA-256, in hex (docs/objects.md, "Hashes"). */
export interface ObjectHashes {
  content_hash: string;
  metadata_view_hash: string;
  object_hash: string;
}

/** A reference to one version of an object, which stays what it is whatever becomes of the object. */
export interface StaticRef extends ObjectHashes {
  id: string;
  version_no: number;
  /** The time of the version; epoch ms. */
  at: number;
}

/** What every object has. */
interface CommonFields {
  id: string;
  /** Null where there is no text to show: a call without a result, an image, a deleted file. */
  content: string | null;
  /** It cannot be taken out of what the model sees. */
  locked: boolean;
  provenance: Provenance;
  /** Rises by one from version to version; the first is 1. */
  version_no: number;
  /** The time of this version; epoch ms. */
  at: number;
}

/** A system prompt that a conversation has used: the part that stays the same from call to call. */
export interface SystemPromptFields extends CommonFields {
  type: "system_prompt";
  locked: true;
  agent_id: string;
  /** Id of the chat. */
  chat_ref: string;
}

/** A call of a tool: version 1 is the call, version 2 has its result. */
export interface ToolcallFields extends CommonFields {
  type: "toolcall";
  tool: string;
  /** As the model said them; absent where only the result is known. */
  args?: unknown;
  /** One line for people: the tool and its main argument. */
  args_display: string;
  /** `pending` until there is a result. */
  status: "ok" | "fail" | "pending";
  /** The chat as it was with the call, and which turn of it has the call. Turns are counted from 0. */
  chat_ref: StaticRef & { turn: number };
  /** Ids of the files that it touched. */
  file_refs?: string[];
  /** The call's id in the messages, where an earlier call has the same. */
  call_id?: string;
  /** The provider's id of the call, where the gateway gave it one of its own. */
  provider_id?: string;
  /** The result as it was, where it is not one text that `content` repeats. */
  output?: (TextBlock | ImageBlock)[];
  /** The time of the result; epoch ms. */
  result_at?: number;
}

/**
 * One step of a conversation: what was said to the model, its reply, and the calls whose results follow. A reply to tool
 * results has no `user`; a message that got no reply has no `assistant_meta`.
 */
export interface Turn {
  user?: UserMessage["content"];
  /** The other fields of the user's message. */
  user_meta?: Omit<UserMessage, "role" | "content">;
  assistant: AssistantMessage["content"];
  /** The other fields of the model's reply. */
  assistant_meta?: Omit<AssistantMessage, "role" | "content">;
  /** Ids of the calls: first those with a result, in the order of their results, then those without. */
  toolcall_ids: string[];
  /** How many of them, at the end, have no result; absent where all have one. */
  unanswered?: number;
}

/** A conversation. Version n is its first n messages. */
export interface ChatFields extends CommonFields {
  type: "chat";
  locked: true;
  /** Id of the session. */
  session_ref: string;
  turns: Turn[];
  turn_count: number;
  /** Ids of its calls, in order. */
  toolcall_refs: string[];
}

/** A session, as far as its present conversation goes. */
export interface SessionFields extends CommonFields {
  type: "session";
  harness: "gsv";
  session_id: string;
  /** Id of the chat. */
  chat_ref: string;
  /** The versions of the system prompt that it has used, in the order of their first use. */
  system_prompt_refs: StaticRef[];
  /** Ids of the objects whose content the model sees, does not see, and is kept seeing. */
  active_set: string[];
  inactive_set: string[];
  pinned_set: string[];
}

/** A file that the conversation has read or written. */
export interface FileFields extends CommonFields {
  type: "file";
  /** Null once it is deleted. */
  path: string | null;
  /** The end of its name, without the dot; `text` where it has none. */
  file_type: string;
  char_count: number;
  /** A name that people gave it. */
  nickname?: string;
}

/** An object before it is hashed. */
export type ObjectFields = SystemPromptFields | ToolcallFields | ChatFields | SessionFields | FileFields;

type Hashed<Fields> = Fields extends ObjectFields ? Fields & ObjectHashes : never;

/** A version of an object, with its hashes. */
export type MemoryObject = Hashed<ObjectFields>;

export type ToolcallObject = Hashed<ToolcallFields>;
export type ChatObject = Hashed<ChatFields>;
export type SessionObject = Hashed<SessionFields>;
export type SystemPromptObject = Hashed<SystemPromptFields>;
export type FileObject = Hashed<FileFields>;

/** An object as a list shows it: its newest version, without its content. */
export interface ListedObject {
  id: string;
  type: ObjectType;
  locked: boolean;
  version_no: number;
  /** The time of the version; epoch ms. */
  at: number;
  /** Number of the message that made it; messages are counted from 1. */
  message: number;
  /** Fields of its type, such as `tool`, `args_display` and `status` of a call. */
  [field: string]: string | number | boolean | null;
}

export interface ObjectList {
  sessionKey: string;
  sessionId: string;
  /** The session, its prompt and its chat, then calls and files in the order in which they first occur. */
  objects: ListedObject[];
  /** How many there are in all, of the type that was asked for. */
  count: number;
}

/** A version as a history shows it. `parent_refs`: what it was made from, such as the call that wrote a file. */
export type ListedVersion = Omit<StaticRef, "id"> & { message: number; parent_refs?: string[] };

export interface ObjectHistory {
  id: string;
  type: ObjectType;
  /** The newest ones, oldest first. */
  versions: ListedVersion[];
  /** How many there are in all. */
  count: number;
}

export interface ObjectDiff {
  from: StaticRef;
  to: StaticRef;
  /** Whether the contents are the same. */
  same: boolean;
  /** The lines that differ, as `diff -u` writes them; empty when the contents are the same. */
  diff: string;
}

/** The formats of an export (docs/exports.md). */
export const exportFormats = ["pi", "turns", "openai", "anthropic", "nexo"] as const;

export type ExportFormat = (typeof exportFormats)[number];

/** The formats that can be imported: nothing is lost in them. */
export const importFormats = ["pi", "turns"] as const satisfies readonly ExportFormat[];

export type ImportFormat = (typeof importFormats)[number];

/** The first line of an export as turns. */
export interface SessionLine {
  type: "session";
  version: 1;
  /** The conversation's id. */
  id: string;
  agent_id: string;
  session_key?: string;
}

/** A turn of an export. */
export type TurnLine = { type: "turn" } & Turn;

/** The result of a call of an export; it stands behind the turn that names it. */
export interface CallLine {
  type: "toolcall";
  id: string;
  tool: string;
  args_display: string;
  status: "ok" | "fail";
  /** The text of the result; null when it has none. */
  content: string | null;
  /** The result as it was. */
  output: (TextBlock | ImageBlock)[];
  /** Epoch ms. */
  result_at: number;
}

/** A line of an export as turns. */
export type TurnsLine = SessionLine | TurnLine | CallLine;
