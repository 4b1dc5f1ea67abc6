import type { WhatsappSent } from "./whatsapp-server.ts";

/** Builders of notifications (reference: https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks). */

const phoneNumberId = "106540352242922";
let lastMessage = 0;

export type WhatsappMessage = { id: string; from?: string; [field: string]: unknown };

/** A message of Ann's with a new id; a string is its text. */
export function whatsappMessage(content: string | Record<string, unknown>): WhatsappMessage {
  const text = typeof content === "string" ? { type: "text", text: { body: content } } : content;
  return {
    from: "16505551234",
    id: `wamid.HBgLMTY1MDU1NTEyMzQVAgASGBQ${String(++lastMessage).padStart(8, "0")}=`,
    timestamp: String(Math.floor(Date.now() / 1000)),
    ...text,
  };
}

/** A press of the reply button with this label. */
export function whatsappPress({ id, buttons = [] }: WhatsappSent, label: string, from: string): object {
  const button_reply = buttons.find(({ title }) => title === label);
  if (!button_reply) throw new Error(`the message has no button ${label}`);
  const interactive = { type: "button_reply", button_reply };
  const context = { from: "15550783881", id };
  return notify({ ...whatsappMessage({ type: "interactive", interactive, context }), from });
}

/** A change of a phone number. */
export function changeOf(value: Record<string, unknown>, number = phoneNumberId): object {
  const metadata = { display_phone_number: "15550783881", phone_number_id: number };
  return { field: "messages", value: { messaging_product: "whatsapp", metadata, ...value } };
}

/** Wraps changes of one business account. */
export function notificationOf(...changes: object[]): object {
  return { object: "whatsapp_business_account", entry: [{ id: "102290129340398", changes }] };
}

/** One message, as in most notifications. */
export function notify(...messages: WhatsappMessage[]): object {
  const contacts = [{ profile: { name: "Ann Example" }, wa_id: "16505551234" }];
  return notificationOf(changeOf({ contacts, messages }));
}

/** The delivery status of a sent message. */
export function statusOf(status: string, error?: { code: number; title: string }): object {
  const id = "wamid.HBgLTEST00000001=";
  const errors = error ? { errors: [{ ...error, message: error.title, error_data: { details: "…" } }] } : {};
  return { id, status, timestamp: "1780000001", recipient_id: "16505551234", ...errors };
}
