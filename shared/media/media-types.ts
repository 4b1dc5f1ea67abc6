import { code, PeerError } from "../protocol/errors.ts";
import type { MediaAttachment } from "../protocol/messages.ts";

/** The extensions of stored media (docs/reference/storage-layout.md, "Media"), by MIME type without its parameters. */
const extensions = new Map([
  ["image/jpeg", "jpg"],
  ["image/png", "png"],
  ["image/gif", "gif"],
  ["image/webp", "webp"],
  ["image/svg+xml", "svg"],
  ["audio/ogg", "ogg"],
  ["audio/opus", "opus"],
  ["audio/mpeg", "mp3"],
  ["audio/mp3", "mp3"],
  ["audio/mp4", "m4a"],
  ["audio/m4a", "m4a"],
  ["audio/wav", "wav"],
  ["audio/webm", "webm"],
  ["audio/flac", "flac"],
  ["video/mp4", "mp4"],
  ["video/webm", "webm"],
  ["video/quicktime", "mov"],
  ["application/pdf", "pdf"],
  ["application/msword", "doc"],
  ["application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"],
]);

/** Maximum length of a MIME type with its parameters, in characters. */
const maxLength = 255;

/**
 * `type/subtype` in the characters of RFC 6838, then parameters in printable ASCII, because the type becomes
 * a header.
 */
const pattern = /^([a-z0-9][a-z0-9!#$&^_.+-]*\/[a-z0-9][a-z0-9!#$&^_.+-]*)\s*(;[\x20-\x7e]*)?$/i;

/** The extension under which media of a type is stored; `bin` for types outside the table. */
export function extensionOf(mimeType: string): string {
  return extensions.get(essenceOf(mimeType)) ?? "bin";
}

/** A MIME type without its parameters, in lower case: `audio/ogg` of `audio/ogg; codecs=opus`. */
export function essenceOf(mimeType: string): string {
  return (mimeType.split(";")[0] ?? "").trim().toLowerCase();
}

/** The kind of attachment of a MIME type. */
export function kindOfMedia(mimeType = ""): MediaAttachment["type"] {
  const [kind = ""] = essenceOf(mimeType).split("/");
  return kind === "image" || kind === "audio" || kind === "video" ? kind : "document";
}

/**
 * Checks a MIME type for use in a header and returns it trimmed.
 * @throws PeerError 400 for an invalid MIME type, or one that does not match the kind of attachment
 */
export function checkMimeType(mimeType: string, kind: MediaAttachment["type"]): string {
  const trimmed = mimeType.trim();
  if (trimmed.length > maxLength || !pattern.test(trimmed))
    throw new PeerError(code.badRequest, "mimeType: not a MIME type");
  if (kind !== "document" && !essenceOf(trimmed).startsWith(`${kind}/`))
    throw new PeerError(code.badRequest, `mimeType: ${essenceOf(trimmed)} is not of the type ${kind}`);
  return trimmed;
}
