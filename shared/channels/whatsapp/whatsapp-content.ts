import * as v from "valibot";
import { type Content, contentNote, contentOf, remoteMedia } from "../content-note.ts";

const text = v.optional(v.string());
const file = v.object({
  id: v.string(),
  mime_type: text,
  caption: text,
  filename: text,
  /** For audio: a voice message. */
  voice: v.optional(v.boolean()),
});
const media = v.optional(file);
const choice = v.optional(v.object({ title: text }));

/**
 * The content fields of a message
 * (https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/messages), as
 * far as it is read. `type` names the field that is present.
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

/** The content of a message. Undefined for messages that need no answer: a reaction or a system notice. */
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
