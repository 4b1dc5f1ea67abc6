import type { EarlierContext } from "../protocol/context-objects.ts";
import { type Message, textOf, type UserMessage } from "../protocol/messages.ts";

/** Limits of a summary, in characters: `most` fits into a table item; a summary below `least` is useless. */
export const summarySize = { most: 40_000, least: 100 };

/** The line in a summary before the request that is being worked on. */
export const requestHeader = "The request that is being worked on, in the user's words:";

const pattern = /^\[Summary of the earlier conversation: (\d{1,9}) messages, archived\]\n\n/;

/** The part of a conversation that a compaction archived. */
export interface EarlierConversation {
  /** Number of archived messages, including those of earlier summaries. */
  count: number;
  /** The summary. */
  text: string;
  /** The request that is being worked on; present only when the remaining messages do not contain it. */
  request?: string;
}

/** The first line of a summary of `count` messages. */
export function summaryHeader(count: number): string {
  return `[Summary of the earlier conversation: ${count} messages, archived]\n\n`;
}

/**
 * A summary as a message of the conversation.
 * @param at epoch milliseconds
 * @param earlier the objects of the archived part that remain listed
 */
export function summaryMessage(content: string, at: number, earlier?: EarlierContext): UserMessage {
  const isEmpty = !earlier || earlier.calls.length + earlier.activated.length === 0;
  return { role: "user", content, ...(isEmpty ? {} : { earlier }), timestamp: at };
}

/** Parses a summary message; undefined for any other message, including one that a person wrote to look like a summary. */
export function readSummaryMessage(message: Message | undefined): EarlierConversation | undefined {
  if (message?.role !== "user" || message.origin) return undefined;
  const content = textOf(message);
  const start = pattern.exec(content);
  if (!start) return undefined;
  const count = Number(start[1]);
  const body = content.slice(start[0].length);
  const at = body.lastIndexOf(`\n\n${requestHeader}\n`);
  if (at < 0) return { count, text: body };
  return { count, text: body.slice(0, at), request: body.slice(at + requestHeader.length + 3) };
}
