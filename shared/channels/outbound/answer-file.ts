import { type OutboundChannel, type OutboundFile, type OutboundText, sourceOf } from "../channel.ts";
import type { Rendered } from "./leaves.ts";

/** Max messages of a text. A longer one is the beginning, and a file in place of the last message. */
const maxMessages = 4;

/** A text as messages. A long one has `file`, which contains all of it, and `rest`: the messages that the file replaces. */
export interface Divided {
  texts: readonly Rendered[];
  file?: OutboundFile;
  rest: readonly Rendered[];
}

/** Divides a text whose messages are too many, unless the channel keeps texts. */
export function withAnswerFile(
  { keepsTexts, sendFile }: Pick<OutboundChannel, "keepsTexts" | "sendFile">,
  text: OutboundText,
  messages: readonly Rendered[],
): Divided {
  if (messages.length <= maxMessages || keepsTexts || !sendFile) return { texts: messages, rest: [] };
  // WhatsApp accepts no other type of text.
  const file = { filename: "answer.md", mimeType: "text/plain", body: Buffer.from(sourceOf(text)) };
  return { texts: messages.slice(0, maxMessages - 1), file, rest: messages.slice(maxMessages - 1) };
}
