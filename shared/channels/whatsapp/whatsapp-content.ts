import * as v from "valibot";
import { type Content, contentNote, contentOf, remoteMedia } from "../content-note.ts";

const text = v.optional(v.string());
const file = v.object({
  id: v.string(),
  mime_type: text,
  caption: text,
  filename: text,
  /** Of audio: recorded as a message. */
  voice: v.optional(v.boolean()),
});
const media = v.optional(file);
const choice = v.optional(v.object({ title: text }));

/**
 * What a message may hold
 * (https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/messages), as
 * far as it is read. Which of these it holds, its `type` says.
 */
export const whatsappContent = {
  text: v.optional(v.object({ body: v.string() })),
  image: media,
  audio: media,
  video: media,
  document: media,
  location: v.optional(v.object({ latitude: v.number(), longitude: v.number(), name: text })),
  button: v.optional(v.object({ text: text })),
  interactive: v.optional(v.object({ button_reply: choice, list_reply: choice })),
};

const contentSchema = v.object({ type: v.string(), ...whatsappContent });
type Fields = v.InferOutput<typeof contentSchema>;

/**
 * What a message holds. Undefined for what nobody wrote to be answered: a reaction, a notice of WhatsApp's.
 */
export function whatsappContentOf(fields: Fields): Content | undefined {
  const { type, button, interactive, location } = fields;
  switch (type) {
    case "text":
      return contentOf([fields.text?.body]);
    case "image":
    case "video":
    case "document":
    case "audio":
      return fileContent(type, fields[type]);
    case "location":
      return contentOf([contentNote("location", location && `${location.latitude}, ${location.longitude}`)]);
    case "button":
      return contentOf([button?.text]);
    case "interactive":
      return contentOf([interactive?.button_reply?.title || interactive?.list_reply?.title]);
    case "sticker":
    case "contacts":
    case "order":
      return contentOf([contentNote(type)]);
    case "unsupported":
      return contentOf([contentNote("message of a kind that WhatsApp does not pass on")]);
    default:
      return undefined;
  }
}

function fileContent(type: string, found: v.InferOutput<typeof media>): Content | undefined {
  if (!found) return contentOf([contentNote(type)]);
  const { id, mime_type: mimeType, filename, voice, caption } = found;
  return contentOf([caption], [remoteMedia({ mediaId: id }, { mimeType, filename, voice: voice || null })]);
}
