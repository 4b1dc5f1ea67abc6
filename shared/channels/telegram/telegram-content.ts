import * as v from "valibot";
import type { RemoteMedia } from "../../session/inbox-entry.ts";
import { type Content, contentNote, contentOf, remoteMedia } from "../content-note.ts";

const anything = v.optional(v.unknown());

/**
 * What PhotoSize, Voice, Audio, Video, VideoNote, Animation and Document have in common, as far as it is
 * read.
 */
const file = v.object({
  file_id: v.string(),
  file_name: v.optional(v.string()),
  mime_type: v.optional(v.string()),
  file_size: v.optional(v.number()),
  duration: v.optional(v.number()),
});
type File = v.InferOutput<typeof file>;

/**
 * What a Message may hold besides text (https://core.telegram.org/bots/api#message), as far as it is read.
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

/** Files by what they are where Telegram does not say it. An animation comes with the document that it is. */
const files = [
  ["voice", "audio/ogg"],
  ["audio", "audio/mpeg"],
  ["video", "video/mp4"],
  ["video_note", "video/mp4"],
  ["animation", "video/mp4"],
  ["document", undefined],
] as const;

/** A venue comes with its location: what says more stands first. */
const notes = ["sticker", "venue", "location", "contact", "poll", "dice"] as const;

/** What a message holds, written being its text or caption. Undefined for nothing at all. */
export function telegramContentOf(written: string | undefined, fields: Fields): Content | undefined {
  const noted = notes.find((field) => fields[field] !== undefined);
  const note = noted && contentNote(noted, detailOf(fields, noted));
  return contentOf([written, note], attachmentsOf(fields));
}

/** The file that a message holds; none or one. */
export function attachmentsOf(fields: Fields): RemoteMedia[] {
  const photo = fields.photo?.at(-1);
  // Photos have no type of their own: Telegram makes a JPEG of each.
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
