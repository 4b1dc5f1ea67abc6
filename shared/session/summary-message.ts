import { type Message, textOf } from "../protocol/messages.ts";

const pattern = /^\[Summary of the earlier conversation: (\d+) messages, archived\]\n\n/;

/** How the text of a message begins that stands for `count` earlier messages. */
export function summaryHeader(count: number): string {
  return `[Summary of the earlier conversation: ${count} messages, archived]\n\n`;
}

/** Takes the text of such a message apart; undefined for any other message. */
export function readSummaryHeader(message: Message | undefined): { count: number; body: string } | undefined {
  if (message?.role !== "user") return undefined;
  const content = textOf(message);
  const start = pattern.exec(content);
  return start ? { count: Number(start[1]), body: content.slice(start[0].length) } : undefined;
}
