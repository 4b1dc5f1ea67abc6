import type { AssistantMessage, ImageBlock, TextBlock, UserMessage } from "./messages.ts";

/** All types of objects. */
export const objectTypes = ["system_prompt", "toolcall", "chat", "session", "file"] as const;

export type ObjectType = (typeof objectTypes)[number];

/** The origin of an object. `parent_refs`: ids of the objects that it was made from. */
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

/** A reference to one version of an object, which never changes. */
export interface StaticRef extends ObjectHashes {
  id: string;
  version_no: number;
  /** The time of the version; epoch ms. */
  at: number;
}

/** The fields of every object. */
interface CommonFields {
  id: string;
  /** Null if there is no text: a call without a result, an image, a deleted file. */
  content: string | null;
  /** Whether it cannot be hidden from the model. */
  locked: boolean;
  provenance: Provenance;
  /** Rises by one from version to version; the first is 1. */
  version_no: number;
  /** The time of this version; epoch ms. */
  at: number;
}

/** A system prompt of a conversation: the part that is the same in every call. */
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
  /** As the model wrote them; absent if only the result is known. */
  args?: unknown;
  /** One line for people: the tool and its main argument. */
  args_display: string;
  /** `pending` until there is a result. */
  status: "ok" | "fail" | "pending";
  /** The version of the chat that ends with the call, and the turn with the call. Turns are counted from 0. */
  chat_ref: StaticRef & { turn: number };
  /** Ids of the files that it touched. */
  file_refs?: string[];
  /** The call's id in the messages, if an earlier call has the same. */
  call_id?: string;
  /** The provider's id of the call, if the gateway assigned another one. */
  provider_id?: string;
  /** The blocks of the result, unless it is one text, equal to `content`. */
  output?: (TextBlock | ImageBlock)[];
  /** The time of the result; epoch ms. */
  result_at?: number;
}

/**
 * One model step: the user's message, the reply, and the calls whose results follow. A reply to tool results has no
 * `user`; a message without a reply has no `assistant_meta`.
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
  /** How many of them, at the end, have no result; absent if all have one. */
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

/** A session during one conversation. */
export interface SessionFields extends CommonFields {
  type: "session";
  harness: "gsv";
  session_id: string;
  /** Id of the chat. */
  chat_ref: string;
  /** The versions of its system prompt, in the order of first use. */
  system_prompt_refs: StaticRef[];
  /** Ids of the objects whose content the model sees, does not see, and sees until it is unpinned. */
  active_set: string[];
  inactive_set: string[];
  pinned_set: string[];
}

/** A file that the conversation read or wrote. */
export interface FileFields extends CommonFields {
  type: "file";
  /** Null once it is deleted. */
  path: string | null;
  /** The extension of its name without the dot; `text` if it has none. */
  file_type: string;
  char_count: number;
  /** A name given by a person. */
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

/** The newest version of an object without its content, for lists. */
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
  /** The session, its prompt and its chat, then calls and files in the order of their first occurrence. */
  objects: ListedObject[];
  /** The number of all objects of the requested type. */
  count: number;
}

/** A version, for histories. `parent_refs`: what it was made from, such as the call that wrote a file. */
export type ListedVersion = Omit<StaticRef, "id"> & { message: number; parent_refs?: string[] };

export interface ObjectHistory {
  id: string;
  type: ObjectType;
  /** The newest versions, oldest first. */
  versions: ListedVersion[];
  /** The number of all versions. */
  count: number;
}

export interface ObjectDiff {
  from: StaticRef;
  to: StaticRef;
  /** Whether the contents are equal. */
  same: boolean;
  /** The difference in the format of `diff -u`; empty if the contents are equal. */
  diff: string;
}

/** The formats of an export (docs/objects.md, "Exports"). */
export const exportFormats = ["pi", "turns", "openai", "anthropic", "nexo"] as const;

export type ExportFormat = (typeof exportFormats)[number];

/** The formats that can be imported, because they are lossless. */
export const importFormats = ["pi", "turns"] as const satisfies readonly ExportFormat[];

export type ImportFormat = (typeof importFormats)[number];

/** The first line of an export as turns. */
interface SessionLine {
  type: "session";
  version: 1;
  /** The conversation's id. */
  id: string;
  agent_id: string;
  session_key?: string;
}

/** The result of a call in an export, after the turn that names it. */
export interface CallLine {
  type: "toolcall";
  id: string;
  tool: string;
  args_display: string;
  status: "ok" | "fail";
  /** The text of the result; null if it has none. */
  content: string | null;
  /** The blocks of the result. */
  output: (TextBlock | ImageBlock)[];
  /** Epoch ms. */
  result_at: number;
}

/** A line of an export as turns. */
export type TurnsLine = SessionLine | ({ type: "turn" } & Turn) | CallLine;
