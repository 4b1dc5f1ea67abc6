import * as v from "valibot";
import { parseJson } from "../../http/platform-call.ts";
import { choicePrefix, type InboundMessage, type Press, type Reaction } from "../channel.ts";
import { contentOf } from "../content/content.ts";
import { partsOfMessage, whatsappContent, whatsappSurroundings } from "./whatsapp-content.ts";

const text = v.optional(v.string());

/**
 * An inbound message
 * (https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/messages).
 * `from` is a phone number. It is missing for senders with a username, who have only a `from_user_id`.
 */
const message = v.looseObject({
  id: v.pipe(v.string(), v.minLength(1)),
  from: text,
  from_user_id: text,
  group_id: text,
  /** Epoch seconds. */
  timestamp: v.pipe(v.string(), v.regex(/^\d{1,12}$/)),
  type: v.string(),
  ...whatsappSurroundings,
  ...whatsappContent,
});

/** A reaction to a message. Without an emoji it was removed. */
const reacted = v.object({
  type: v.literal("reaction"),
  id: v.string(),
  from: v.string(),
  reaction: v.object({ message_id: v.string(), emoji: text }),
});

/** The edit of a message, which Meta sends only for accounts that the WhatsApp Business app uses, too. */
const edited = v.object({
  type: v.literal("edit"),
  timestamp: v.string(),
  edit: v.object({ original_message_id: v.string(), message: v.looseObject({}) }),
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
  reactions: Reaction[];
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
  const reactions = values.flatMap((found) => found.messages.flatMap(readReaction));
  const statuses = values.flatMap((found) => found.statuses.flatMap(readStatus));
  return { messages, presses, reactions, statuses, skipped: read.filter((one) => one === undefined).length };
}

function readMessage(source: unknown, { contacts }: Value): InboundMessage | Press | undefined {
  const edit = v.safeParse(edited, source);
  const parsed = v.safeParse(message, edit.success ? original(source, edit.output.edit) : source);
  if (!parsed.success) return undefined;
  const found = parsed.output;
  const id = found.from ?? found.from_user_id;
  // Group messages are ignored: they do not belong to the sender's direct conversation.
  if (id === undefined || found.group_id !== undefined) return undefined;
  const parts = partsOfMessage(found);
  if (edit.success) parts.push({ kind: "edit", at: Number(found.timestamp) * 1000 });
  const content = contentOf(parts, { channel: "whatsapp", senderId: id });
  if (!content) return undefined;
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
    ...content,
    timestamp: Number(found.timestamp) * 1000,
    wasMentioned: false,
  };
}

/** The edited message with its own id. */
function original(
  source: unknown,
  { original_message_id: id, message }: v.InferOutput<typeof edited>["edit"],
) {
  return { ...(source as object), edit: undefined, ...message, id };
}

function readReaction(source: unknown): Reaction[] {
  const parsed = v.safeParse(reacted, source);
  if (!parsed.success) return [];
  const { id: eventId, from: id, reaction } = parsed.output;
  const base = { eventId, sender: { id }, peer: { kind: "dm", id }, messageId: reaction.message_id };
  return [{ ...base, ...(reaction.emoji ? { emoji: reaction.emoji } : {}) }];
}

function readStatus(source: unknown): MessageStatus[] {
  const parsed = v.safeParse(status, source);
  if (!parsed.success) return [];
  const { id, errors, ...found } = parsed.output;
  return [{ messageId: id, status: found.status, ...(errors?.[0] ? { error: errors[0] } : {}) }];
}
