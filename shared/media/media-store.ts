import { createHash, randomUUID } from "node:crypto";
import { code, PeerError } from "../protocol/errors.ts";
import type { MediaAttachment, StoredMedia } from "../protocol/messages.ts";
import type { InboxEntry } from "../session/inbox-entry.ts";
import type { Bucket } from "../world/world.ts";
import { imageTypeOf, isShownSize, shownImageTypes } from "./image-format.ts";
import { checkMimeType, essenceOf, extensionOf } from "./media-types.ts";

/** The largest media object, in bytes: 25 MB. */
export const maxMediaBytes = 25 * 1024 * 1024;

/**
 * Bytes that a file's name takes in metadata at most, percent-encoded. S3 takes 2 KB of metadata in all, of
 * which a session key may need 600.
 */
const maxEncodedName = 1200;

/** What a name keeps of its end when it is cut, in characters: enough for any extension. */
const keptEnd = 16;

/** Media that is to be stored: the attachment's fields and the bytes. */
export interface IncomingMedia extends Omit<MediaAttachment, "data" | "r2Key" | "url" | "size"> {
  body: Uint8Array;
}

/**
 * Where media goes. `id` names what brings it (a message's id, a call's id and the place in it): storing the
 * same bytes under the same id again, after a crash or for a request that was repeated, is the same object.
 * Without an id every storing makes a new one.
 */
export interface MediaTarget {
  /** Canonical. */
  sessionKey: string;
  id?: string;
  /** Epoch milliseconds. */
  now: number;
}

/**
 * The prefix of all of a session's media. It ends in a slash, so that no other session's key begins with it.
 */
export function mediaPrefix(sessionKey: string): string {
  if (!/^agent:[a-z0-9+\-_@.:]+$/.test(sessionKey)) throw new Error("not a canonical session key");
  return `media/${sessionKey}/`;
}

/**
 * Stores media at `media/{sessionKey}/{uuid}.{ext}` with its MIME type and metadata (docs/storage-layout.md).
 * The result's mimeType of an image is that of its bytes, not the sender's; an image that no model takes is
 * application/octet-stream.
 * @throws PeerError 400 for a MIME type that is none, or does not fit the kind, and for no bytes; 413 above
 * 25 MB
 */
export async function storeMedia(
  bucket: Pick<Bucket, "put">,
  target: MediaTarget,
  media: IncomingMedia,
): Promise<StoredMedia> {
  const { body, filename: given, ...attachment } = media;
  const contentType = checkMimeType(media.mimeType, media.type);
  if (body.byteLength === 0) throw new PeerError(code.badRequest, "data: there is nothing in it");
  if (body.byteLength > maxMediaBytes) throw tooLarge();
  const { sessionKey, now } = target;
  const r2Key = `${mediaPrefix(sessionKey)}${uuidOf(target, body)}.${extensionOf(contentType)}`;
  const filename = given === undefined ? undefined : shortName(given);
  await bucket.put(r2Key, body, {
    contentType,
    metadata: { originalFilename: filename ?? "", uploadedAt: String(now), sessionKey },
  });
  return {
    ...attachment,
    mimeType: media.type === "image" ? trueImageType(contentType, body) : contentType,
    ...(filename ? { filename } : {}),
    r2Key,
    size: body.byteLength,
  };
}

/**
 * The bytes of strict base64, with or without line breaks.
 * @throws PeerError 400 for what is no base64; 413 above 25 MB, before it is decoded
 */
export function decodeMedia(data: string): Uint8Array {
  const text = data.replace(/[\r\n]/g, "");
  if (Math.floor((text.length * 3) / 4) > maxMediaBytes + 2) throw tooLarge();
  const bytes = Buffer.from(text, "base64");
  // What does not belong to the alphabet is skipped, and so leaves fewer bytes than the text stands for.
  if (text.length % 4 !== 0 || bytes.length !== Buffer.byteLength(text, "base64"))
    throw new PeerError(code.badRequest, "data: not base64");
  return bytes;
}

/**
 * The keys of media that messages in the inbox bring: a reset leaves them, because their turn is still to
 * come.
 */
export function mediaOf(waiting: readonly InboxEntry[]): Set<string> {
  const attached = waiting.flatMap((entry) => (entry.kind === "message" ? (entry.media ?? []) : []));
  return new Set(attached.map((media) => media.r2Key));
}

/**
 * A model is only shown what is an image of a size that it takes: a provider that is sent another thing under
 * this name refuses the whole turn.
 */
function trueImageType(named: string, body: Uint8Array): string {
  const found = imageTypeOf(body);
  if (found && isShownSize(body, found)) return found;
  return found || shownImageTypes.some((shown) => shown === essenceOf(named))
    ? "application/octet-stream"
    : named;
}

function tooLarge(): PeerError {
  return new PeerError(code.tooLarge, `data: larger than ${maxMediaBytes / 1024 / 1024} MB`);
}

/** A random UUID, or one made of what it names (version 8, RFC 9562). */
function uuidOf({ sessionKey, id }: MediaTarget, body: Uint8Array): string {
  if (id === undefined) return randomUUID();
  const name = JSON.stringify([sessionKey, id, createHash("sha256").update(body).digest("hex")]);
  const hex = createHash("sha256").update(name).digest("hex");
  const variant = ((Number.parseInt(hex.slice(16, 17), 16) & 3) | 8).toString(16);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    variant + hex.slice(17, 20),
    hex.slice(20, 32),
  ].join("-");
}

/** A name that fits into metadata: one that is too long loses its middle, and keeps its extension. */
function shortName(filename: string): string {
  const name = filename
    .toWellFormed()
    .replace(/\p{Cc}+/gu, " ")
    .trim();
  if (encodedBytes(name) <= maxEncodedName) return name;
  const characters = [...name];
  const end = `…${characters.slice(-keptEnd).join("")}`;
  let start = "";
  for (const character of characters.slice(0, -keptEnd)) {
    if (encodedBytes(start + character + end) > maxEncodedName) break;
    start += character;
  }
  return start + end;
}

function encodedBytes(text: string): number {
  return encodeURIComponent(text).length;
}
