import { maxEntryBytes } from "../../session/inbox.ts";
import type { RemoteMedia } from "../../session/inbox-entry.ts";
import type { InboundMessage } from "../channel.ts";

/** Maximum number of attachments kept for one message. */
const maxAttachments = 10;

/** Maximum size of an attachment's description, in bytes of JSON. */
const maxAttachmentBytes = 4000;

/** Bytes reserved for the note about dropped content and for the entry's other fields. */
const reserve = 1000;

/**
 * Cuts a message's text and attachments to the size of an inbox entry, with a note about dropped content.
 * Refusing the message would be worse: the platform would redeliver it for days, and the sender would not be
 * told.
 * @param others the entry's other values, which count against the size
 */
export function fitMessage(
  { text, attachments = [] }: InboundMessage,
  others: object,
): { text: string; attachments: RemoteMedia[] } {
  const kept = attachments.filter((one) => jsonBytes(one) <= maxAttachmentBytes).slice(0, maxAttachments);
  const left = attachments.length - kept.length;
  const room = maxEntryBytes - reserve - jsonBytes(others) - jsonBytes(kept);
  const note =
    left > 0 ? `[${left} more ${left === 1 ? "attachment was" : "attachments were"} left out]` : "";
  return { text: [cutText(text, room), note].filter((line) => line).join("\n"), attachments: kept };
}

function cutText(text: string, room: number): string {
  if (jsonBytes(text) <= room) return text;
  let [fits, over] = [0, text.length];
  while (over - fits > 1) {
    const middle = Math.floor((fits + over) / 2);
    if (jsonBytes(text.slice(0, middle)) <= room) fits = middle;
    else over = middle;
  }
  return `${text.slice(0, fits).toWellFormed()}\n[cut here: the message has ${text.length} characters]`;
}

/** Size of a value in bytes of JSON. */
function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
