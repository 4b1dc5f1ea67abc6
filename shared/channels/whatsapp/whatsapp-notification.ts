import * as v from "valibot";
import { parseJson } from "../../http/platform-call.ts";
import { choicePrefix, type InboundMessage, type Press } from "../channel.ts";
import { type Content, contentFields, contentNote, contentOf, remoteMedia } from "../content-note.ts";

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
const choice = v.optional(v.object({ id: text, title: text }));

/**
 * The content fields that are read of a message
 * (https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/messages). `type` names
 * the field that is present.
 */
const whatsappContent = {
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
function whatsappContentOf(fields: Fields): Content | undefined {
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

/**
 * An inbound message
 * (https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/messages).
 * `from` is a phone number. It is missing for senders with a username, who have only a `from_user_id`.
 */
const message = v.object({
  id: v.pipe(v.string(), v.minLength(1)),
  from: text,
  from_user_id: text,
  group_id: text,
  /** Epoch seconds. */
  timestamp: v.pipe(v.string(), v.regex(/^\d{1,12}$/)),
  type: v.string(),
  context: v.optional(v.object({ id: text })),
  ...whatsappContent,
});

const contact = v.object({
  wa_id: text,
  user_id: text,
  profile: v.optional(v.object({ name: text })),
});

const status = v.object({
  id: v.string(),
  status: v.string(),
  errors: v.optional(v.array(v.object({ code: v.number(), title: text }))),
});

const value = v.object({
  metadata: v.object({ phone_number_id: v.string() }),
  contacts: v.optional(v.array(contact), []),
  messages: v.optional(v.array(v.unknown()), []),
  statuses: v.optional(v.array(v.unknown()), []),
});

/** A batch, with several businesses, changes and messages in one request. */
const notification = v.object({
  object: v.literal("whatsapp_business_account"),
  entry: v.array(
    v.object({ changes: v.array(v.object({ field: v.string(), value: v.optional(v.unknown()) })) }),
  ),
});

type Message = v.InferOutput<typeof message>;
type Value = v.InferOutput<typeof value>;

/** The status of an outgoing message: sent, delivered, read or failed. */
export interface MessageStatus {
  messageId: string;
  status: string;
  /** Only for failures: the platform's code and description. */
  error?: { code: number; title?: string };
}

/** The part of a notification for one phone number. */
export interface WhatsappNotification {
  messages: InboundMessage[];
  presses: Press[];
  statuses: MessageStatus[];
  /** Number of messages that cannot be parsed or have an ignored type. */
  skipped: number;
}

/**
 * Parses the part of a notification for one phone number; an app's webhook is called for all its numbers. An
 * invalid message is skipped, the rest of the batch is kept. Undefined for a body that is not a notification.
 */
export function readNotification(body: Uint8Array, phoneNumberId: unknown): WhatsappNotification | undefined {
  const parsed = v.safeParse(notification, parseJson(body));
  if (!parsed.success) return undefined;
  const values = parsed.output.entry
    .flatMap(({ changes }) => changes)
    .filter(({ field }) => field === "messages")
    .map((change) => v.safeParse(value, change.value))
    .flatMap((found) => (found.success ? [found.output] : []))
    .filter(({ metadata }) => metadata.phone_number_id === phoneNumberId);
  const read = values.flatMap((found) => found.messages.map((one) => readMessage(one, found)));
  const presses = read.flatMap((one) => (one && "data" in one ? [one] : []));
  const messages = read.flatMap((one) => (one && !("data" in one) ? [one] : []));
  const statuses = values.flatMap((found) => found.statuses.flatMap(readStatus));
  return { messages, presses, statuses, skipped: read.filter((one) => one === undefined).length };
}

function readMessage(source: unknown, { contacts }: Value): InboundMessage | Press | undefined {
  const parsed = v.safeParse(message, source);
  if (!parsed.success) return undefined;
  const found = parsed.output;
  const id = found.from ?? found.from_user_id;
  const content = whatsappContentOf(found);
  // Group messages are ignored: they do not belong to the sender's direct conversation.
  if (id === undefined || found.group_id !== undefined || !content) return undefined;
  const name = contacts.find((one) => one.wa_id === id || one.user_id === id)?.profile?.name;
  const named = name === undefined ? {} : { name };
  const from = {
    eventId: found.id,
    peer: { kind: "dm", id, ...named },
    sender: { id, ...named },
  };
  const data = found.interactive?.button_reply?.id;
  const messageId = found.context?.id;
  if (data?.startsWith(choicePrefix) && messageId !== undefined) return { ...from, messageId, data };
  return {
    ...from,
    messageId: found.id,
    ...contentFields(content),
    timestamp: Number(found.timestamp) * 1000,
    ...replyOf(found),
    wasMentioned: false,
  };
}

function replyOf({ context }: Message): Pick<InboundMessage, "replyToId"> {
  return context?.id === undefined ? {} : { replyToId: context.id };
}

function readStatus(source: unknown): MessageStatus[] {
  const parsed = v.safeParse(status, source);
  if (!parsed.success) return [];
  const { id, errors, ...found } = parsed.output;
  return [{ messageId: id, status: found.status, ...(errors?.[0] ? { error: errors[0] } : {}) }];
}
