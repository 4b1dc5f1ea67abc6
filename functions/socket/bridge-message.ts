import { createHash } from "node:crypto";
import type { EnclosedMedia, InboundMessage } from "../../shared/channels/channel.ts";
import { contentFields, contentNote, contentOf } from "../../shared/channels/content-note.ts";
import { decodeMedia } from "../../shared/media/media-store.ts";
import { code, PeerError } from "../../shared/protocol/errors.ts";
import type { Params } from "../../shared/protocol/methods.ts";
import type { RemoteMedia } from "../../shared/session/inbox-entry.ts";

type Inbound = Params<"channel.inbound">;

/**
 * Converts a bridge's `channel.inbound` params to the message type of all channels. In a direct message
 * without `sender` the peer is the sender.
 * @param now time of receipt, epoch ms
 * @throws PeerError 400 for a message without a sender, or without text, media and location
 */
export function readBridgeMessage(
  { peer, sender, message, wasMentioned }: Inbound,
  now: number,
): InboundMessage {
  const { id, timestamp = now, replyToId, replyToText } = message;
  const from = sender ?? (peer.kind === "dm" ? peer : undefined);
  if (!from) throw new PeerError(code.badRequest, "sender: required unless the peer is a dm");
  const enclosed = message.media.flatMap(enclosedMedia);
  const content = contentOf(
    [message.text.trim(), locationNote(message.location)],
    message.media.flatMap(remoteMedia),
  );
  if (!content && enclosed.length === 0)
    throw new PeerError(code.badRequest, "message: needs a text, media or a location");
  return {
    eventId: `${id}@${digestOf(peer)}`,
    peer: { kind: peer.kind, id: peer.id, ...(peer.name ? { name: peer.name } : {}) },
    sender: {
      id: from.id,
      ...(from.name ? { name: from.name } : {}),
      ...(from.handle ? { handle: from.handle } : {}),
    },
    messageId: id,
    ...contentFields(content ?? { text: "", attachments: [] }),
    timestamp,
    ...(replyToId === undefined ? {} : { replyToId }),
    ...(replyToText === undefined ? {} : { replyToText }),
    ...(enclosed.length > 0 ? { enclosed } : {}),
    wasMentioned,
  };
}

/** A digest of the peer. It makes event ids unique: many messengers number the messages of each conversation. */
function digestOf({ kind, id }: Inbound["peer"]): string {
  return createHash("sha256")
    .update(JSON.stringify([kind, id]))
    .digest("hex")
    .slice(0, 16);
}

type Media = Inbound["message"]["media"][number];

/** Media that the message contains as base64. @throws PeerError 400 when it is not base64 */
function enclosedMedia({ data, url: _url, ...media }: Media): EnclosedMedia[] {
  if (data === undefined) return [];
  decodeMedia(data);
  return [{ ...media, data }];
}

/** Media that the message names by URL. */
function remoteMedia({ data, url, transcription: _transcription, ...media }: Media): RemoteMedia[] {
  return data === undefined && url !== undefined ? [{ ...media, source: { url } }] : [];
}

function locationNote(location: Inbound["message"]["location"]): string | undefined {
  if (!location) return undefined;
  const { lat, lon, name } = location;
  return contentNote("location", [name, `${lat}, ${lon}`].filter(Boolean).join(" "));
}
