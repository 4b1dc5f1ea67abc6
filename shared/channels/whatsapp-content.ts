import * as v from "valibot";
import { contentNote, withNotes } from "./content-note.ts";

const text = v.optional(v.string());
const media = v.optional(v.object({ caption: text, filename: text, voice: v.optional(v.boolean()) }));
const choice = v.optional(v.object({ title: text }));

/**
 * What a message may hold
 * (https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/messages), as far as it
 * is read. Which of these it holds, its `type` says.
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
type Content = v.InferOutput<typeof contentSchema>;

/**
 * The text of a message: what was written, with a note of what came with it. Undefined for what nobody wrote to be
 * answered: a reaction, a notice of WhatsApp's.
 */
export function whatsappText(content: Content): string | undefined {
  const { type, button, interactive, location } = content;
  switch (type) {
    case "text":
      return content.text?.body || undefined;
    case "image":
    case "video":
      return withNotes(content[type]?.caption, [contentNote(type)]);
    case "document":
      return withNotes(content.document?.caption, [contentNote("document", content.document?.filename)]);
    case "audio":
      return contentNote(content.audio?.voice ? "voice note" : "audio");
    case "location":
      return contentNote("location", location && `${location.latitude}, ${location.longitude}`);
    case "button":
      return button?.text || undefined;
    case "interactive":
      return interactive?.button_reply?.title || interactive?.list_reply?.title || undefined;
    case "sticker":
    case "contacts":
    case "order":
      return contentNote(type);
    case "unsupported":
      return contentNote("message of a kind that WhatsApp does not pass on");
    default:
      return undefined;
  }
}
