import * as v from "valibot";
import type { RemoteMedia } from "../../session/inbox-entry.ts";
import { remoteMedia } from "../content/content.ts";
import type { ForwardedPart } from "../content/part.ts";

const text = v.optional(v.string());

/** The common fields of PhotoSize, Voice, Audio, Video, VideoNote, Animation and Document that are read. */
const file = v.object({
  file_id: v.string(),
  file_name: text,
  mime_type: text,
  file_size: v.optional(v.number()),
  duration: v.optional(v.number()),
});
type File = v.InferOutput<typeof file>;

const location = v.object({ latitude: v.number(), longitude: v.number() });

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
  sticker: v.optional(
    v.object({
      file_id: v.string(),
      emoji: text,
      set_name: text,
      is_animated: v.optional(v.boolean()),
      is_video: v.optional(v.boolean()),
      file_size: v.optional(v.number()),
    }),
  ),
  venue: v.optional(v.object({ location, title: v.string(), address: v.string() })),
  location: v.optional(location),
  contact: v.optional(
    v.object({
      phone_number: v.string(),
      first_name: v.string(),
      last_name: text,
      user_id: v.optional(v.number()),
      vcard: text,
    }),
  ),
  poll: v.optional(v.object({ question: v.string(), options: v.array(v.object({ text: v.string() })) })),
  dice: v.optional(v.object({ emoji: v.string(), value: v.number() })),
  story: v.optional(
    v.object({ chat: v.object({ title: text, first_name: text, username: text }), id: v.number() }),
  ),
};

const contentSchema = v.object(telegramContent);
export type TelegramContent = v.InferOutput<typeof contentSchema>;

/** File fields with their type and default MIME type. An animation is also present as a document. */
const files = [
  ["voice", "audio/ogg"],
  ["audio", "audio/mpeg"],
  ["video", "video/mp4"],
  ["video_note", "video/mp4"],
  ["animation", "video/mp4"],
  ["document", undefined],
] as const;

/** The parts of a message's content besides its text. */
export function partsOfContent(fields: TelegramContent): ForwardedPart[] {
  const media = attachmentsOf(fields).map((one) => ({ kind: "media" as const, media: one }));
  return [...media, ...notedParts(fields)];
}

/** The message's file, if any; an array of at most one. */
function attachmentsOf(fields: TelegramContent): RemoteMedia[] {
  const photo = fields.photo?.at(-1);
  // Photos have no MIME type: Telegram converts them to JPEG.
  if (photo) return [toMedia(photo, "image/jpeg", false)];
  const { sticker } = fields;
  // Moving stickers are in formats that no model sees.
  if (sticker?.is_animated === false && sticker.is_video === false)
    return [
      toMedia(
        { ...sticker, file_name: undefined, mime_type: undefined, duration: undefined },
        "image/webp",
        false,
      ),
    ];
  const [field, mimeType] = files.find(([name]) => fields[name] !== undefined) ?? [];
  const found = field && fields[field];
  return found ? [toMedia(found, mimeType, field === "voice")] : [];
}

function toMedia(found: File, mimeType: string | undefined, voice: boolean): RemoteMedia {
  const { file_id, file_name: filename, file_size: size, duration } = found;
  const described = { mimeType: found.mime_type ?? mimeType, filename, size, duration };
  return remoteMedia({ fileId: file_id }, { ...described, ...(voice ? { voice } : {}) });
}

function notedParts({
  sticker,
  venue,
  location,
  contact,
  poll,
  dice,
  story,
}: TelegramContent): ForwardedPart[] {
  const parts: ForwardedPart[] = [];
  if (sticker) parts.push({ kind: "sticker", emoji: sticker.emoji, name: sticker.set_name });
  // A venue also has its location.
  if (venue) parts.push({ kind: "place", name: venue.title, address: venue.address, ...venue.location });
  else if (location) parts.push({ kind: "place", ...location });
  if (contact) parts.push(contactPart(contact));
  if (poll)
    parts.push({ kind: "poll", question: poll.question, options: poll.options.map((option) => option.text) });
  if (dice) parts.push({ kind: "other", name: "dice", detail: `${dice.emoji} ${dice.value}` });
  if (story) {
    const { title, first_name, username } = story.chat;
    parts.push({
      kind: "other",
      name: "story",
      detail: [title ?? first_name ?? username, story.id].join(" "),
    });
  }
  return parts;
}

function contactPart(contact: NonNullable<TelegramContent["contact"]>): ForwardedPart {
  const { phone_number, first_name, last_name, user_id, vcard = "" } = contact;
  const card = vcard.split(/\r?\n/).filter((line) => line && !/^(BEGIN|END|VERSION):/i.test(line));
  return {
    kind: "contact",
    name: [first_name, last_name].filter(Boolean).join(" "),
    details: [`phone ${phone_number}`, ...(user_id === undefined ? [] : [`Telegram id ${user_id}`]), ...card],
  };
}

/** A text entity (https://core.telegram.org/bots/api#messageentity). Offsets and lengths are in UTF-16 units. */
export interface TextEntity {
  type: string;
  offset: number;
  length: number;
  url?: string | undefined;
}

/** The parts of a text: the words, the addresses behind its links, and its quotations. */
export function partsOfText(written: string, entities: readonly TextEntity[]): ForwardedPart[] {
  const at = ({ offset, length }: TextEntity) => written.slice(offset, offset + length);
  const quotes = entities.filter(({ type }) => type === "blockquote" || type === "expandable_blockquote");
  const links = entities.filter(({ url }) => url !== undefined);
  return [
    { kind: "text", text: without(written, quotes) },
    ...quotes.map((entity) => ({ kind: "quote" as const, text: at(entity) })),
    ...links.map((entity) => ({ kind: "link" as const, url: entity.url, label: at(entity) })),
  ];
}

function without(written: string, ranges: readonly TextEntity[]): string {
  if (ranges.length === 0) return written;
  const sorted = ranges.toSorted((a, b) => a.offset - b.offset);
  const ends = [0, ...sorted.map(({ offset, length }) => offset + length)];
  return [...sorted.map(({ offset }) => offset), written.length]
    .map((end, index) => written.slice(ends[index], end).trim())
    .filter((piece) => piece)
    .join("\n");
}

/** Fields of a Message that are no content: they describe the message, or are read elsewhere. */
const described = new RegExp(
  `^(?:${[
    ...["message_id", "message_thread_id", "direct_messages_topic", "from", "sender_.*", "date", "chat"],
    ...["business_connection_id", "forward_.*", "is_.*", "reply_.*", "external_reply", "quote", "via_bot"],
    ...["edit_date", "has_.*", "media_group_id", "author_signature", "paid_star_count", "text", "entities"],
    ...["caption", "caption_entities", "link_preview_options", "suggested_post_info", "effect_id"],
    ...["show_caption_above_media", "guest_.*"],
  ].join("|")})$`,
);

/** Fields of service messages, which tell what happened in a chat. */
const service = new RegExp(
  `^(?:${[
    ...["new_chat_.*", "left_chat_.*", "delete_chat_photo", ".*_chat_created", "message_auto_delete_.*"],
    ...["migrate_.*", "pinned_message", "connected_website", "write_access_allowed", "proximity_.*"],
    ...["boost_added", "chat_background_set", "checklist_tasks_.*", "(?:general_)?forum_topic_.*"],
    ...["giveaway_.*", "video_chat_.*", ".*_price_changed", "suggested_post_.*"],
  ].join("|")})$`,
);

/** Content that this reader has no kind for, by its field, with its values. Nothing for a service message. */
export function unknownParts(message: Readonly<Record<string, unknown>>): ForwardedPart[] {
  const fields = Object.keys(message).filter(
    (field) => message[field] !== undefined && !described.test(field),
  );
  if (fields.some((field) => service.test(field))) return [];
  return fields
    .filter((field) => !Object.hasOwn(telegramContent, field))
    .map((field) => ({
      kind: "other",
      name: field.replaceAll("_", " "),
      lines: [JSON.stringify(message[field]).slice(0, 2000)],
    }));
}
