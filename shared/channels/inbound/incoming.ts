import { decodeMedia, storeMedia } from "../../media/media-store.ts";
import { guestOrigin, joinOrigins } from "../../origins/origins.ts";
import type { Role } from "../../protocol/channel-accounts.ts";
import type { StoredMedia } from "../../protocol/messages.ts";
import { localTime } from "../../runtime/zoned-time.ts";
import { maxEntryBytes } from "../../session/inbox.ts";
import type { RemoteMedia } from "../../session/inbox-entry.ts";
import type { Incoming } from "../../session/intake.ts";
import type { Bucket } from "../../world/world.ts";
import type { ChannelAddress, ChannelOrigin, InboundMessage } from "../channel.ts";
import { contentNote } from "../content/content-note.ts";

/** Where a message goes, and as whose. */
export interface Admitted {
  /** The id of the entry. */
  id: string;
  sessionKey: string;
  role: Role;
  /** The user's, an IANA name. */
  timezone: string;
  configurationVersion: number | undefined;
}

/** What an admitted message becomes for its session. Its enclosed media are stored. @throws PeerError for invalid media */
export async function incomingOf(
  inbound: { bucket?: Pick<Bucket, "put">; now: () => number },
  address: ChannelAddress,
  message: InboundMessage,
  { id, sessionKey, role, timezone, configurationVersion }: Admitted,
): Promise<Incoming> {
  const media = await storeEnclosed(inbound, sessionKey, id, message);
  const incoming = {
    id,
    envelope: envelope(address.channel, message, timezone),
    origin: { ...channelOrigin(address, message), sessionKey },
    ...wordsOf(address, message),
    writer: { role, senderId: message.sender.id },
    ...(message.isUndated ? {} : { sentAt: message.timestamp }),
    ...(configurationVersion === undefined ? {} : { configurationVersion }),
    ...(media.length > 0 ? { media } : {}),
    ...(message.album && message.editedAt === undefined ? { album: message.album } : {}),
  };
  return { ...incoming, ...fitMessage(message, incoming) };
}

/** Stores enclosed media under keys that a repeat reuses. @throws PeerError for invalid media */
async function storeEnclosed(
  { bucket, now }: { bucket?: Pick<Bucket, "put">; now: () => number },
  sessionKey: string,
  id: string,
  { enclosed = [] }: InboundMessage,
): Promise<StoredMedia[]> {
  if (!bucket) return [];
  const stored = enclosed.map(({ data, ...media }, index) => {
    const target = { sessionKey, id: JSON.stringify([id, index]), now: now() };
    return storeMedia(bucket, target, { ...media, body: decodeMedia(data) });
  });
  return Promise.all(stored);
}

/** Whose words a message contains. In a room, anybody may have written the message that it answers. */
function wordsOf(
  { channel }: ChannelAddress,
  { peer, replyToText, origins }: InboundMessage,
): { origins?: string[] } {
  const room = peer.kind === "dm" || !replyToText ? [] : [guestOrigin(channel, peer.id)];
  const all = joinOrigins(origins, room);
  return all.length > 0 ? { origins: all } : {};
}

export function channelOrigin(
  address: ChannelAddress,
  { peer, messageId: replyToId, context }: InboundMessage,
): ChannelOrigin {
  return { kind: "channel", ...address, peer, replyToId, ...(context ? { context } : {}) };
}

/** Maximum length of a sender's name, in characters. */
const maxName = 64;

/** Maximum length of a quoted message, in UTF-16 units. */
const maxReply = 1000;

/**
 * The line before a message in the model's context: `[telegram · 2026-03-04 17:05]`, with the sender's name
 * outside of direct messages: `[telegram · 2026-03-04 17:05 · Ann]`. A quoted message, when known, follows on
 * a second line: `[in reply to: shall we?]`.
 * @param timezone the user's, an IANA name
 */
export function envelope(
  channel: string,
  {
    timestamp,
    peer,
    sender,
    replyToText,
  }: Pick<InboundMessage, "timestamp" | "peer" | "sender" | "replyToText">,
  timezone: string,
): string {
  const { date, time } = localTime(timestamp, timezone);
  const parts = [channel, `${date} ${time}`];
  if (peer.kind !== "dm") parts.push(plainName(sender.name) || plainName(sender.handle) || sender.id);
  const line = `[${parts.join(" · ")}]`;
  return replyToText ? `${line}\n${contentNote("in reply to", replyToText, maxReply)}` : line;
}

/** Removes characters from a name that could imitate the envelope or the text after it. */
function plainName(name = ""): string {
  const plain = name.replace(/[[\]·\p{Cc}\p{Bidi_Control}\s]+/gu, " ").trim();
  return [...plain].slice(0, maxName).join("").trimEnd();
}

/** Maximum number of attachments kept for one message. */
const maxAttachments = 10;

/** Maximum size of an attachment's description, in bytes of JSON. */
const maxAttachmentBytes = 4000;

/** Bytes reserved for the note about dropped content and for the entry's other fields. */
const reserve = 1000;

/**
 * Cuts a message's text and attachments to the size of an inbox entry, with a note about dropped content.
 * Refusing the message would be worse: the platform would redeliver it for days, and the sender would not
 * learn why.
 * @param others the entry's other values, which count against the size
 */
export function fitMessage(
  { text, shown = "", attachments = [] }: InboundMessage,
  others: object,
): { text: string; shown?: string; attachments: RemoteMedia[] } {
  const kept = attachments.filter((one) => jsonBytes(one) <= maxAttachmentBytes).slice(0, maxAttachments);
  const left = attachments.length - kept.length;
  const room = maxEntryBytes - reserve - jsonBytes(others) - jsonBytes(kept);
  const note =
    left > 0 ? `[${left} more ${left === 1 ? "attachment was" : "attachments were"} left out]` : "";
  const written = cutText(text, room);
  const rest = [shown && cutText(shown, Math.max(0, room - jsonBytes(written))), note]
    .filter((line) => line)
    .join("\n");
  return { text: written, ...(rest === "" ? {} : { shown: rest }), attachments: kept };
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
