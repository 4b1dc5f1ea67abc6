import * as v from "valibot";
import type { RemoteMedia } from "../../session/inbox-entry.ts";
import { type Content, contentNote, contentOf, remoteMedia } from "../content-note.ts";

const anything = v.optional(v.unknown());

/** The common fields of PhotoSize, Voice, Audio, Video, VideoNote, Animation and Document that are read. */
const file = v.object({
  file_id: v.string(),
  file_name: v.optional(v.string()),
  mime_type: v.optional(v.string()),
  file_size: v.optional(v.number()),
  duration: v.optional(v.number()),
});
type File = v.InferOutput<typeof file>;

/**
 * The content fields of a Message besides text (https://core.telegram.org/bots/api#message) that are read.
 */
export const telegramContent = {
  /** In several sizes, the largest last. */
  photo: v.optional(v.array(file)),
  voice: v.optional(file),
  audio: v.optional(file),
  video: v.optional(file),
  video_note: v.optional(file),
  animation: v.optional(file),
  document: v.optional(file),
  sticker: v.optional(v.object({ emoji: v.optional(v.string()) })),
  venue: anything,
  location: v.optional(v.object({ latitude: v.number(), longitude: v.number() })),
  contact: anything,
  poll: anything,
  dice: anything,
};

const contentSchema = v.object(telegramContent);
type Fields = v.InferOutput<typeof contentSchema>;

/** File fields with their type and default MIME type. An animation is also present as a document. */
const files = [
  ["voice", "audio/ogg"],
  ["audio", "audio/mpeg"],
  ["video", "video/mp4"],
  ["video_note", "video/mp4"],
  ["animation", "video/mp4"],
  ["document", undefined],
] as const;

/** Ordered from specific to general: a venue, for example, also has a location. */
const notes = ["sticker", "venue", "location", "contact", "poll", "dice"] as const;

/** The content of a message, given its text or caption. Undefined when there is none. */
export function telegramContentOf(written: string | undefined, fields: Fields): Content | undefined {
  const noted = notes.find((field) => fields[field] !== undefined);
  const note = noted && contentNote(noted, detailOf(fields, noted));
  return contentOf([written, note], attachmentsOf(fields));
}

/** The message's file, if any; an array of at most one. */
export function attachmentsOf(fields: Fields): RemoteMedia[] {
  const photo = fields.photo?.at(-1);
  // Photos have no MIME type: Telegram converts them to JPEG.
  if (photo) return [toMedia(photo, "image/jpeg", false)];
  const [field, mimeType] = files.find(([name]) => fields[name] !== undefined) ?? [];
  const found = field && fields[field];
  return found ? [toMedia(found, mimeType, field === "voice")] : [];
}

function toMedia(found: File, mimeType: string | undefined, voice: boolean): RemoteMedia {
  const { file_id, file_name: filename, file_size: size, duration } = found;
  const described = { mimeType: found.mime_type ?? mimeType, filename, size, duration };
  return remoteMedia({ fileId: file_id }, { ...described, ...(voice ? { voice } : {}) });
}

function detailOf({ sticker, location }: Fields, field: (typeof notes)[number]): string | undefined {
  if (field === "sticker") return sticker?.emoji;
  if ((field === "location" || field === "venue") && location)
    return `${location.latitude}, ${location.longitude}`;
  return undefined;
}
