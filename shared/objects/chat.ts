import type { ChatFields, ChatObject } from "../protocol/memory/objects.ts";
import type { Message } from "../protocol/messages.ts";
import { withHashes } from "./hash.ts";
import { argsDisplay, type Call } from "./toolcall.ts";
import { toTurns } from "./turns.ts";

/** The ids of the objects that stand for a conversation and its session. */
export const chatId = (sessionId: string) => `chat:${sessionId}`;
export const sessionObjectId = (sessionKey: string) => `session:${sessionKey}`;

/**
 * Version `n` of a chat: its first n messages.
 * @param calls of the whole conversation, as `callsOf` gives them
 */
export function chatObject(
  { sessionId, sessionKey }: { sessionId: string; sessionKey: string },
  messages: readonly Message[],
  calls: readonly Call[],
  n: number,
): ChatObject {
  const said = messages.slice(0, n);
  const made = calls.filter((call) => call.n <= n);
  const turns = toTurns(said);
  const fields: ChatFields = {
    id: chatId(sessionId),
    type: "chat",
    content: chatText(said, made),
    locked: true,
    provenance: { origin: "gsv", generator: "system", parent_refs: [sessionObjectId(sessionKey)] },
    version_no: n,
    at: said.at(-1)?.timestamp ?? 0,
    session_ref: sessionObjectId(sessionKey),
    turns,
    turn_count: turns.length,
    toolcall_refs: made.map(({ id }) => id),
  };
  return withHashes(fields);
}

/** The turn, counted from 0, that holds message `n`. */
export function turnOf(messages: readonly Message[], n: number): number {
  return Math.max(0, toTurns(messages.slice(0, n)).length - 1);
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
  const tool = call.block?.name ?? call.result?.toolName ?? "";
  const args = argsDisplay(tool, call.block?.arguments);
  return `--- toolcall [ref:${call.id}] tool=${tool} args=${args} status=${status}\n`;
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
