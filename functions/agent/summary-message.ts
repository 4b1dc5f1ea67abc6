import { type Message, textOf, type UserMessage } from "../../shared/protocol/messages.ts";
import { readSummaryHeader, summaryHeader } from "../../shared/session/summary-message.ts";
import { shorten } from "./context/shorten.ts";

/** Bounds of a summary's length, in characters: an item of the table holds the longest, the shortest says something. */
export const summarySize = { most: 40_000, least: 100 };

const requestHeader = "The request that is being worked on, in the user's words:";

/** What stands for the messages that a compaction took out of a conversation. */
export interface EarlierConversation {
  /** How many messages it stands for, those of summaries before it included. */
  count: number;
  text: string;
  /** What the user asked for, where the messages that stayed do not show it. */
  request?: string;
}

/**
 * Writes what stands for earlier messages as the text of one user message that says what it is.
 * @param most characters; longer texts are shortened, the request to a third at most
 */
export function writeSummary({ count, text, request }: EarlierConversation, most: number): string {
  const start = summaryHeader(count);
  let end = "";
  if (request !== undefined) end = `\n\n${requestHeader}\n${shorten(request, Math.floor(most / 3))}`;
  // Where there is hardly any room, the summary itself is what counts.
  if (start.length + end.length > most / 2) end = "";
  return (start + shorten(text, Math.max(0, most - start.length - end.length)) + end)
    .slice(0, most)
    .toWellFormed();
}

/** Reads what `writeSummary` has written; undefined for any other message. */
export function readSummaryMessage(message: Message | undefined): EarlierConversation | undefined {
  const summary = readSummaryHeader(message);
  if (!summary) return undefined;
  const { count, body } = summary;
  const at = body.lastIndexOf(`\n\n${requestHeader}\n`);
  if (at < 0) return { count, text: body };
  return { count, text: body.slice(0, at), request: body.slice(at + requestHeader.length + 3) };
}

/** The message itself. */
export function summaryMessage(content: string, at: number): UserMessage {
  return { role: "user", content, timestamp: at };
}

/**
 * What the user asked for last, if the messages that stay do not show it.
 * @param removed the messages that are taken out, `kept` those behind them
 */
export function requestAmong(removed: readonly Message[], kept: readonly Message[]): string | undefined {
  if (kept.some((message) => message.role === "user")) return undefined;
  const last = removed.findLast((message) => message.role === "user");
  if (!last) return undefined;
  const summary = readSummaryMessage(last);
  return summary ? summary.request : textOf(last);
}
