import type { Message } from "../protocol/messages.ts";
import type { ChatObject, SessionObject, StaticRef, SystemPromptObject, Turn } from "../protocol/objects.ts";
import { withHashes } from "./hash.ts";
import { type Call, displayOf, toolOf } from "./toolcall.ts";

/** The ids of a conversation, from which its locked objects are named: session, system prompt and chat. */
export interface ConversationIds {
  agentId: string;
  sessionKey: string;
  sessionId: string;
}

export const sessionObjectId = (sessionKey: string) => `session:${sessionKey}`;
export const promptId = (agentId: string, sessionId: string) => `system_prompt:${agentId}:${sessionId}`;
export const chatId = (sessionId: string) => `chat:${sessionId}`;

/** Ids of the objects whose content the model sees, does not see, and sees until it is unpinned. */
export interface ObjectSets {
  active: readonly string[];
  inactive: readonly string[];
  pinned: readonly string[];
}

/** A version of a session. */
export function sessionObject(
  { sessionKey, sessionId }: ConversationIds,
  { version_no, at }: { version_no: number; at: number },
  prompts: readonly StaticRef[],
  { active, inactive, pinned }: ObjectSets,
): SessionObject {
  return withHashes({
    id: sessionObjectId(sessionKey),
    type: "session",
    content: null,
    locked: true,
    provenance: { origin: "gsv", generator: "system" },
    version_no,
    at,
    harness: "gsv",
    session_id: sessionId,
    chat_ref: chatId(sessionId),
    system_prompt_refs: [...prompts],
    active_set: [...active],
    inactive_set: [...inactive],
    pinned_set: [...pinned],
  });
}

/** A reply, and the version of the prompt that it was made from. */
export interface PromptUse {
  hash: string;
  version_no: number;
  /** Number and time of the reply. */
  n: number;
  at: number;
}

/** The prompt of each reply. Equal texts are one version; versions are numbered in the order of first use. */
export function promptUses(messages: readonly Message[]): PromptUse[] {
  const versions = new Map<string, number>();
  return messages.flatMap((message, i) => {
    const hash = message.role === "assistant" ? message.context?.prompt : undefined;
    if (hash === undefined) return [];
    const version_no = versions.get(hash) ?? versions.size + 1;
    versions.set(hash, version_no);
    return [{ hash, version_no, n: i + 1, at: message.timestamp }];
  });
}

/** A version of a conversation's system prompt. @param text null when it was not stored */
export function promptObject(
  { agentId, sessionId }: ConversationIds,
  { version_no, at }: PromptUse,
  text: string | null,
): SystemPromptObject {
  return withHashes({
    id: promptId(agentId, sessionId),
    type: "system_prompt",
    content: text,
    locked: true,
    provenance: { origin: "gsv", generator: "system" },
    version_no,
    at,
    agent_id: agentId,
    chat_ref: chatId(sessionId),
  });
}

/**
 * Version `n` of a chat: its first n messages.
 * @param calls of the whole conversation, from `callsOf`
 * @param turns of the first n messages
 */
export function chatObject(
  { sessionId, sessionKey }: ConversationIds,
  messages: readonly Message[],
  calls: readonly Call[],
  turns: readonly Turn[],
  n: number,
): ChatObject {
  const first = messages.slice(0, n);
  const made = calls.filter((call) => call.n <= n);
  const session = sessionObjectId(sessionKey);
  return withHashes({
    id: chatId(sessionId),
    type: "chat",
    content: chatText(first, made),
    locked: true,
    provenance: { origin: "gsv", generator: "system", parent_refs: [session] },
    version_no: n,
    at: first.at(-1)?.timestamp ?? 0,
    session_ref: session,
    turns: [...turns],
    turn_count: turns.length,
    toolcall_refs: made.map(({ id }) => id),
  });
}

/**
 * A conversation as Markdown for people. Each part begins with a line of its own: `--- user`, `--- assistant`, or
 * `--- toolcall …` for a result. A line of the text that looks like one gets a backslash before it.
 */
function chatText(messages: readonly Message[], calls: readonly Call[]): string {
  const byResult = new Map(calls.map((call) => [call.resultN, call]));
  const parts = messages.map((message, i) => {
    if (message.role !== "toolResult") return `--- ${message.role}\n${textIn(message)}`;
    const call = byResult.get(i + 1);
    return call ? callLine(call, message.isError ? "fail" : "ok") : "";
  });
  const open = calls.filter(({ resultN = Number.POSITIVE_INFINITY }) => resultN > messages.length);
  return [...parts, ...open.map((call) => callLine(call, "pending"))].join("");
}

function callLine(call: Call, status: string): string {
  return `--- toolcall [ref:${call.id}] tool=${toolOf(call)} args=${displayOf(call)} status=${status}\n`;
}

function textIn({ content }: Message): string {
  if (typeof content === "string") return escaped(content);
  const texts = content.flatMap((block) => {
    if (block.type === "text") return [block.text];
    return block.type === "image" ? [`[${block.mimeType}]`] : [];
  });
  return texts.map(escaped).join("");
}

function escaped(text: string): string {
  return text === "" ? "" : `${text.replace(/^(\\*--- )/gm, "\\$1").trimEnd()}\n`;
}
