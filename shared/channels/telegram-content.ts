import * as v from "valibot";
import { contentNote } from "./content-note.ts";

const anything = v.optional(v.unknown());

/** What a Message may hold besides text (https://core.telegram.org/bots/api#message), as far as it is read. */
export const telegramContent = {
  photo: anything,
  voice: anything,
  audio: anything,
  video: anything,
  video_note: anything,
  animation: anything,
  document: v.optional(v.object({ file_name: v.optional(v.string()) })),
  sticker: v.optional(v.object({ emoji: v.optional(v.string()) })),
  venue: anything,
  location: v.optional(v.object({ latitude: v.number(), longitude: v.number() })),
  contact: anything,
  poll: anything,
  dice: anything,
};

const contentSchema = v.object(telegramContent);
type Content = v.InferOutput<typeof contentSchema>;

/** An animation comes with the document that it is, and a venue with its location: what says more stands first. */
const notes: readonly [keyof Content, string][] = [
  ["photo", "photo"],
  ["voice", "voice note"],
  ["audio", "audio"],
  ["video", "video"],
  ["video_note", "video note"],
  ["animation", "animation"],
  ["document", "document"],
  ["sticker", "sticker"],
  ["venue", "venue"],
  ["location", "location"],
  ["contact", "contact"],
  ["poll", "poll"],
  ["dice", "dice"],
];

/** What the model is told of content that is no text: `[photo]`, `[document: plan.pdf]`. Undefined for text alone. */
export function noteOfContent(content: Content): string | undefined {
  const found = notes.find(([field]) => content[field] !== undefined);
  if (!found) return undefined;
  const [field, label] = found;
  return contentNote(label, detailOf(content, field));
}

function detailOf(content: Content, field: keyof Content): string | undefined {
  if (field === "document") return content.document?.file_name;
  if (field === "sticker") return content.sticker?.emoji;
  if ((field === "location" || field === "venue") && content.location)
    return `${content.location.latitude}, ${content.location.longitude}`;
  return undefined;
}
