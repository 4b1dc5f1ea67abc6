import { type Message, textOf, toolCallsOf } from "../protocol/messages.ts";
import { readSummaryMessage } from "../session/summary-message.ts";
import type { Turn } from "./segment.ts";

/** Maximum characters of a tool's result in a turn: enough to know its subject. */
const resultCharacters = 500;

const recallTools = ["recall", "session_logs", "who_am_i", "what_do_i_know", "my_stats", "memory"];

/**
 * Whether a tool shows earlier messages or memories: a search must find those, and an extraction read those, not the tool's
 * results. A model may leave out the prefix.
 */
export function isRecallTool(name: string): boolean {
  return recallTools.includes(name.replace(/^gsv__/, ""));
}

/**
 * The turns of consecutive messages of a conversation, which start with its first message or with a summary that states how
 * many messages preceded it. Messages without a text count, but are not turns.
 */
export function turnsOf(messages: Iterable<Message>): Turn[] {
  const add = numberTurns();
  return [...messages].flatMap((message) => add(message) ?? []);
}

/** Like `turnsOf`, message by message: returns a message's turn, if it has one. */
export function numberTurns(): (message: Message) => Turn | undefined {
  let n = 0;
  let isFirst = true;
  return (message) => {
    const summary = isFirst ? readSummaryMessage(message) : undefined;
    isFirst = false;
    n = summary ? summary.count : n + 1;
    return summary ? undefined : turnOf(message, n);
  };
}

function turnOf(message: Message, n: number): Turn | undefined {
  const text = textOf(message).toWellFormed().trim();
  const { timestamp: ts, role } = message;
  if (role === "toolResult") {
    if (text === "" || isRecallTool(message.toolName)) return undefined;
    const cut = text.length > resultCharacters ? { cut: true as const } : {};
    const beginning = text.slice(0, resultCharacters).toWellFormed();
    return { n, ts, role: "tool", text: beginning, ...cut, calls: [message.toolName] };
  }
  const calls = toolCallsOf(message).map(({ name }) => name);
  if (text === "") return undefined;
  return { n, ts, role, text, ...(calls.length > 0 ? { calls } : {}), ...writerOf(message) };
}

function writerOf(message: Message): Pick<Turn, "channel" | "senderId"> {
  if (message.role !== "user" || !message.origin) return {};
  const { channel, senderId } = message.origin;
  return { channel, ...(senderId === undefined ? {} : { senderId }) };
}
