import * as v from "valibot";
import { failedSend, fileOf, plainReason } from "../../http/platform-call.ts";
import type { Registration } from "../../protocol/channel-accounts.ts";
import { log } from "../../runtime/log.ts";
import { accountFields, ownValue } from "../account.ts";
import {
  type AccountCheck,
  type AccountSetup,
  type Buttons,
  type Channel,
  type ChannelAccount,
  type Destination,
  type FileMessage,
  type InboundMessage,
  type MediaLocation,
  type OutboundFile,
  type OutboundMessage,
  type PlatformFailure,
  type Received,
  refused,
  type SendOutcome,
  sendFileTimeoutMs,
  sendTimeoutMs,
  type WebhookRequest,
} from "../channel.ts";
import { isPastReceipt } from "../inbound/inbound-receipt.ts";
import { hmacSha256, isSameSecret } from "../signature.ts";
import { callGraph, callMessages, describeFailure, graphHeaders, phoneNumberOf } from "./whatsapp-api.ts";
import { type MessageStatus, readNotification } from "./whatsapp-notification.ts";

/**
 * WhatsApp, by a business's webhook and the Cloud API
 * (https://developers.facebook.com/documentation/business-messaging/whatsapp). Meta's signature covers no
 * time, so a request can be replayed: a message whose receipt may have expired is dropped, because it may have been handled
 * before.
 */
export function createWhatsapp({ now = Date.now }: { now?: () => number } = {}): Channel {
  return {
    name: "whatsapp",
    maxText: 4096,
    format: async () => (await import("./whatsapp-format.ts")).whatsappFormat,
    ...whatsappAccount,
    async receive(request, account) {
      if (request.method === "GET") return answerChallenge(request, account);
      if (request.method !== "POST") return refused(405, "only GET and POST");
      if (!isMetaSigned(request, account.secrets.appSecret)) return refused(401, "wrong signature");
      const notification = readNotification(request.body, account.settings.phoneNumberId);
      if (!notification) return refused(400, "not a notification of WhatsApp");
      const { presses, reactions, statuses, skipped } = notification;
      const messages = notification.messages.filter((message) => !isStale(account, message, now()));
      const failures = statuses.flatMap((status) => recordStatus(account, status) ?? []);
      if (skipped > 0) log("whatsapp.skipped", { accountId: account.accountId, messages: skipped });
      return { status: "messages", messages, presses, reactions, failures };
    },
    send,
    sendFile,
    buttons: whatsappButtons,
    async typing(account, { replyToId }) {
      if (replyToId === undefined) return;
      const typing_indicator = { type: "text" };
      await callMessages(account, { status: "read", message_id: replyToId, typing_indicator });
    },
    async mark(account, { peer, messageId }, mark) {
      const reaction = {
        message_id: messageId,
        emoji: { accepted: "👀", answered: "✅", failed: "❌" }[mark],
      };
      await sendTo(account, { peer }, { type: "reaction", reaction });
    },
    locate,
  };
}

/**
 * Answers Meta's verification of a webhook
 * (https://developers.facebook.com/docs/graph-api/webhooks/getting-started#verification-requests).
 */
function answerChallenge({ query }: WebhookRequest, { secrets }: ChannelAccount): Received {
  const challenge = query["hub.challenge"];
  const isAsked = query["hub.mode"] === "subscribe" && challenge !== undefined && challenge !== "";
  const isKnown = isSameSecret(query["hub.verify_token"], secrets.verifyToken);
  if (!isAsked || !isKnown) return refused(403, "wrong verify token");
  return { status: "answered", httpStatus: 200, body: challenge, contentType: "text/plain" };
}

/**
 * Whether Meta signed a request
 * (https://developers.facebook.com/docs/graph-api/webhooks/getting-started#event-notifications).
 */
export function isMetaSigned(
  { headers, body }: Pick<WebhookRequest, "headers" | "body">,
  appSecret: string | undefined,
): boolean {
  if (!appSecret) return false;
  return isSameSecret(headers["x-hub-signature-256"], `sha256=${hmacSha256(appSecret, body)}`);
}

function isStale({ accountId }: ChannelAccount, message: InboundMessage, now: number): boolean {
  const { eventId, timestamp } = message;
  if (!isPastReceipt(timestamp, now)) return false;
  log("whatsapp.stale", { accountId, eventId, sentAt: timestamp });
  return true;
}

/** An accepted message may fail later; WhatsApp reports it only by this notification. @returns the reason */
function recordStatus(
  { accountId }: ChannelAccount,
  { messageId, status, error }: MessageStatus,
): string | undefined {
  const reason = error && plainReason(describeFailure(error.code, error.title ?? "without a reason"));
  log("whatsapp.status", { accountId, messageId, status, reason });
  return reason;
}

function send(account: ChannelAccount, { text, ...to }: OutboundMessage): Promise<SendOutcome> {
  return sendTo(account, to, { type: "text", text: { preview_url: false, body: text } });
}

/**
 * Reply buttons (https://developers.facebook.com/documentation/business-messaging/whatsapp/messages/interactive-reply-buttons-messages),
 * with titles of at most 20 characters. WhatsApp cannot change a message that was sent.
 */
const whatsappButtons: Buttons = {
  maxText: 1024,
  maxChoices: 3,
  fence: "```",
  ask(account, { text, choices, ...to }) {
    const buttons = choices.map(({ label, data }) => ({ type: "reply", reply: { id: data, title: label } }));
    const interactive = { type: "button", body: { text }, action: { buttons } };
    return sendTo(account, to, { type: "interactive", interactive });
  },
};

async function sendFile(account: ChannelAccount, { file, ...to }: FileMessage): Promise<SendOutcome> {
  const uploaded = await uploadFile(account, file, sendFileTimeoutMs - sendTimeoutMs);
  return uploaded.ok ? sendTo(account, to, uploaded.content) : uploaded.failure;
}

function sendTo(
  account: ChannelAccount,
  { peer, replyToId }: Destination,
  content: object,
): Promise<SendOutcome> {
  return callMessages(account, {
    recipient_type: "individual",
    ...recipientOf(peer),
    ...(replyToId === undefined ? {} : { context: { message_id: replyToId } }),
    ...content,
  });
}

/** Media has an id. The API returns a download URL for it, valid for five minutes. */
async function locate(
  account: ChannelAccount,
  { mediaId = "" }: Readonly<Record<string, string>>,
): Promise<MediaLocation> {
  const path = `${encodeURIComponent(mediaId)}?phone_number_id=${phoneNumberOf(account)}`;
  const answer = await callGraph(account, path, { method: "GET" });
  if (!answer.ok) return answer.failure;
  const found = v.safeParse(v.object({ url: v.string() }), answer.body);
  if (!found.success) return failedSend(false, "WhatsApp returned no file URL");
  return { status: "found", url: found.output.url, headers: graphHeaders(account) };
}

/** The recipient field: users with a username instead of a phone number have a business-scoped id. */
function recipientOf({ id }: Destination["peer"]): { to: string } | { recipient: string } {
  return /^\+?\d+$/.test(id) ? { to: id } : { recipient: id };
}

const fields = accountFields([
  { name: "phoneNumberId", about: "phone number ID (WhatsApp → API Setup)" },
  { name: "accessToken", about: "access token of a system user" },
  { name: "appSecret", about: "app secret (App settings → Basic)" },
  { name: "verifyToken", about: "verify token: any text", free: true },
]);

const phoneNumber = v.object({ display_phone_number: v.string(), verified_name: v.optional(v.string()) });

/**
 * Setup of WhatsApp accounts: the operator registers the webhook, because it belongs to the app, not to the
 * number.
 */
const whatsappAccount: AccountSetup = { fields, check, register };

async function check(account: ChannelAccount): Promise<AccountCheck> {
  const path = `${phoneNumberOf(account)}?fields=display_phone_number,verified_name`;
  const answer = await callGraph(account, path, { method: "GET" });
  if (!answer.ok) return { ok: false, reason: answer.failure.reason };
  const found = v.safeParse(phoneNumber, answer.body);
  if (!found.success) return { ok: false, reason: "unexpected answer of the Graph API" };
  const { display_phone_number, verified_name } = found.output;
  return { ok: true, identity: [display_phone_number, verified_name].filter(Boolean).join(" ") };
}

async function register(): Promise<Registration> {
  const todo =
    "WhatsApp → Configuration → Webhook: paste the URL and the verify token, and subscribe to the field messages";
  return { status: "manual", todo };
}

/**
 * Accepted MIME types and the message type for each
 * (https://developers.facebook.com/documentation/business-messaging/whatsapp/business-phone-numbers/media#supported-media-types).
 */
const kinds: Record<string, string> = {
  "image/jpeg": "image",
  "image/png": "image",
  "audio/aac": "audio",
  "audio/amr": "audio",
  "audio/mp4": "audio",
  "audio/mpeg": "audio",
  "audio/ogg": "audio",
  "video/3gpp": "video",
  "video/mp4": "video",
  "application/msword": "document",
  "application/pdf": "document",
  "application/vnd.ms-excel": "document",
  "application/vnd.ms-powerpoint": "document",
  "application/vnd.openxmlformats-officedocument.presentationml.presentation": "document",
  "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "document",
  "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "document",
  "text/plain": "document",
};

/** The message content for an uploaded file. */
type UploadedFile = { ok: true; content: object } | { ok: false; failure: PlatformFailure };

/** Uploads a file, which WhatsApp keeps for 30 days. */
async function uploadFile(
  account: ChannelAccount,
  file: OutboundFile,
  timeoutMs: number,
): Promise<UploadedFile> {
  const type = ownValue(kinds, file.mimeType);
  if (!type) return uploadFailed(`WhatsApp accepts no files of the type ${file.mimeType}`);
  const form = new FormData();
  form.append("messaging_product", "whatsapp");
  form.append("type", file.mimeType);
  form.append("file", fileOf(file));
  const answer = await callGraph(account, `${phoneNumberOf(account)}/media`, { form, timeoutMs });
  if (!answer.ok) return answer;
  const uploaded = v.safeParse(v.object({ id: v.string() }), answer.body);
  if (!uploaded.success) return uploadFailed("WhatsApp returned no file id");
  const named = type === "document" ? { filename: file.filename } : {};
  return { ok: true, content: { type, [type]: { id: uploaded.output.id, ...named } } };
}

function uploadFailed(reason: string): UploadedFile {
  return { ok: false, failure: failedSend(false, reason) };
}
