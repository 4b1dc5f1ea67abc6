import { maxEntryBytes } from "../../session/inbox.ts";
import type { RemoteMedia } from "../../session/inbox-entry.ts";
import type { InboundMessage } from "../channel.ts";

/** Most attachments of one message that are fetched. */
const maxAttachments = 10;

/** The largest description of an attachment, in bytes of JSON. */
const maxAttachmentBytes = 4000;

/** What a note about what is left out takes, and what an entry has besides, in bytes. */
const reserve = 1000;

/**
 * What a message says and brings, as an inbox entry can hold it: what is too long is cut and says so. A
 * platform would repeat a message that is refused, for days, and nobody would be told.
 * @param others what else the entry is to hold
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

/** Bytes that a value takes in the inbox. */
function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
