import type { Message } from "../protocol/messages.ts";
import type { ChatFields, ChatObject, Turn } from "../protocol/objects.ts";
import { withHashes } from "./hash.ts";
import { type Call, displayOf, toolOf } from "./toolcall.ts";
import { toTurns } from "./turns.ts";

/** The ids of the objects that stand for a conversation and its session. */
export const chatId = (sessionId: string) => `chat:${sessionId}`;
export const sessionObjectId = (sessionKey: string) => `session:${sessionKey}`;

/**
 * Version `n` of a chat: its first n messages.
 * @param calls of the whole conversation, as `callsOf` gives them
 * @param turns of the first n messages
 */
export function chatObject(
  { sessionId, sessionKey }: { sessionId: string; sessionKey: string },
  messages: readonly Message[],
  calls: readonly Call[],
  turns: readonly Turn[],
  n: number,
): ChatObject {
  const said = messages.slice(0, n);
  const made = calls.filter((call) => call.n <= n);
  const fields: ChatFields = {
    id: chatId(sessionId),
    type: "chat",
    content: chatText(said, made),
    locked: true,
    provenance: { origin: "gsv", generator: "system", parent_refs: [sessionObjectId(sessionKey)] },
    version_no: n,
    at: said.at(-1)?.timestamp ?? 0,
    session_ref: sessionObjectId(sessionKey),
    turns: [...turns],
    turn_count: turns.length,
    toolcall_refs: made.map(({ id }) => id),
  };
  return withHashes(fields);
}

/**
 * The turns of the first n messages, for any n. Turns that are whole are the same objects for each n. Changing one is
 * forbidden.
 */
export function turnsAt(messages: readonly Message[]): (n: number) => readonly Turn[] {
  const turns = toTurns(messages);
  let end = 0;
  const ends = turns.map((turn) => (end += messagesIn(turn)));
  return (n) => {
    const firstOpen = ends.findIndex((one) => one > n);
    const whole = firstOpen < 0 ? turns.length : firstOpen;
    return [...turns.slice(0, whole), ...toTurns(messages.slice(ends[whole - 1] ?? 0, n))];
  };
}

function messagesIn({ user_meta, assistant_meta, toolcall_ids, unanswered = 0 }: Turn): number {
  return (user_meta ? 1 : 0) + (assistant_meta ? 1 : 0) + toolcall_ids.length - unanswered;
}

/**
 * A conversation as Markdown for people. Each part begins with a line of its own: `--- user`, `--- assistant`, or
 * `--- toolcall …` where a result came. A line of the text that looks like one gets a backslash before it.
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
