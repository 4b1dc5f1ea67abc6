import { createHash, randomUUID } from "node:crypto";
import { code, PeerError } from "../protocol/errors.ts";
import type { MediaAttachment, Message, StoredMedia } from "../protocol/messages.ts";
import type { InboxEntry } from "../session/inbox-entry.ts";
import type { Bucket } from "../world/world.ts";
import { imageTypeOf, isShownSize, shownImageTypes } from "./image-format.ts";
import { checkMimeType, essenceOf, extensionOf } from "./media-types.ts";

/** The largest media object, in bytes: 25 MB. */
export const maxMediaBytes = 25 * 1024 * 1024;

/**
 * Media that is this much older than the end of a conversation belongs to it. A newer object that no message of
 * the conversation names may belong to a message that is about to enter the inbox: the function that accepts it ends
 * within half this time; the rest allows for differing clocks. Milliseconds.
 */
export const arrivingMs = 60_000;

/**
 * Maximum size of a percent-encoded file name in metadata, in bytes. S3 allows 2 KB of metadata; a session
 * key may take 600 bytes.
 */
const maxEncodedName = 1200;

/** Characters kept at the end of a cut name, enough for an extension. */
const keptEnd = 16;

/** Media to store: the attachment's fields and its bytes. */
export interface IncomingMedia extends Omit<MediaAttachment, "data" | "r2Key" | "url" | "size"> {
  body: Uint8Array;
}

/**
 * The session of stored media. `id` is made of the message's or call's id and the attachment's index. The
 * same bytes with the same id get the same key, so that a retry does not store them twice. Without an id
 * every call creates a new object.
 */
export interface MediaTarget {
  /** Canonical. */
  sessionKey: string;
  id?: string;
  /** Epoch milliseconds. */
  now: number;
}

/**
 * The key prefix of a session's media. The final slash excludes sessions whose key starts with this session's
 * key.
 * @throws Error for a key that is not canonical
 */
export function mediaPrefix(sessionKey: string): string {
  if (!/^agent:[a-z0-9+\-_@.:]+$/.test(sessionKey)) throw new Error("not a canonical session key");
  return `media/${sessionKey}/`;
}

/**
 * Stores media at `media/{sessionKey}/{uuid}.{ext}` with its MIME type and metadata (docs/reference/storage-layout.md).
 * The result's mimeType of an image is detected from its bytes; an image that models do not accept gets
 * application/octet-stream.
 * @throws PeerError 400 for an invalid MIME type, one that does not match the kind, or an empty body; 413
 * above 25 MB
 */
export async function storeMedia(
  bucket: Pick<Bucket, "put">,
  target: MediaTarget,
  media: IncomingMedia,
): Promise<StoredMedia> {
  const { body, filename: given, ...attachment } = media;
  const contentType = checkMimeType(media.mimeType, media.type);
  if (body.byteLength === 0) throw new PeerError(code.badRequest, "data: is empty");
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
 * Decodes strict base64, with or without line breaks.
 * @throws PeerError 400 for invalid base64; 413 above 25 MB, before decoding
 */
export function decodeMedia(data: string): Uint8Array {
  const text = data.replace(/[\r\n]/g, "");
  if (Math.floor((text.length * 3) / 4) > maxMediaBytes + 2) throw tooLarge();
  const bytes = Buffer.from(text, "base64");
  // Buffer.from skips invalid characters, which gives fewer bytes than the text's length promises.
  if (text.length % 4 !== 0 || bytes.length !== Buffer.byteLength(text, "base64"))
    throw new PeerError(code.badRequest, "data: not base64");
  return bytes;
}

/**
 * Keys of the media of messages in the inbox. A reset keeps them, because these messages are not handled yet.
 */
export function mediaOf(waiting: readonly InboxEntry[]): Set<string> {
  const attached = waiting.flatMap((entry) => (entry.kind === "message" ? (entry.media ?? []) : []));
  return new Set(attached.map((media) => media.r2Key));
}

/** The keys that messages refer to: in an image, or in the note about a file. */
export async function mediaNamed(
  messages: AsyncIterable<Message>,
  keys: readonly string[],
): Promise<Set<string>> {
  const named = new Set<string>();
  for await (const message of messages) {
    const text = JSON.stringify(message);
    for (const key of keys) if (text.includes(key)) named.add(key);
  }
  return named;
}

/**
 * The type detected from an image's bytes, or application/octet-stream when models do not accept it. A
 * provider rejects the whole request if one image has a wrong type or size.
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

/** A random UUID, or with an id one derived from session, id and bytes (version 8, RFC 9562). */
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

/** Cuts the middle out of a file name that is too long for metadata; the extension stays. */
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
