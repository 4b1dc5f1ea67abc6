import { createHmac } from "node:crypto";
import {
  callWebhook,
  type PlatformCall,
  type PlatformReply,
  type PlatformServer,
  type SignedRequest,
  startPlatformServer,
  type WebhookReply,
} from "../platform-server.ts";
import {
  answerMedia,
  shownFile,
  upload,
  type WhatsappMedia,
  type WhatsappUploads,
} from "./whatsapp-media.ts";

/** A text that the business sent. */
export interface WhatsappSent {
  to: string;
  text: string;
  replyTo?: string;
  id: string;
  file?: File;
  /** Reply buttons. */
  buttons?: { id: string; title: string }[];
}

export interface WhatsappServer extends PlatformServer {
  accessToken: string;
  appSecret: string;
  phoneNumberId: string;
  sent: WhatsappSent[];
  /** Messages that were marked as read, with "typing" shown. */
  typing: string[];
  /** The business's reaction to each message, by its id. */
  reactions: Map<string, string>;
  /** Users who have not written for a day. */
  away: Set<string>;
  /** Media that users sent, stored for 30 days. */
  media: WhatsappMedia;
  /** Files that the business uploaded. */
  uploads: WhatsappUploads;
  /** Signs a notification as Meta does. */
  sign(body: object): SignedRequest;
  /** Posts it to a webhook, by default `/whatsapp/default`. */
  deliver(webhookUrl: string, body: object, path?: string): Promise<WebhookReply>;
  /** Makes a webhook confirm itself, as Meta does when it is registered. */
  challenge(webhookUrl: string, verifyToken: string, challenge?: string): Promise<WebhookReply>;
}

/** WhatsApp's Cloud API on 127.0.0.1 (reference: https://developers.facebook.com/documentation/business-messaging/whatsapp). */
export async function startWhatsappServer(): Promise<WhatsappServer> {
  const state: State = {
    accessToken: "EAAJBtestTokenOfASystemUser",
    phoneNumberId: "106540352242922",
    sent: [],
    typing: [],
    reactions: new Map(),
    away: new Set(),
    media: new Map(),
    uploads: new Map(),
  };
  const appSecret = "0c1d2e3f4a5b6c7d8e9f00112233445566";
  const server = await startPlatformServer((call) => answer(call, state));
  const sign: WhatsappServer["sign"] = (body) => signMeta(appSecret, JSON.stringify(body));
  return {
    ...server,
    ...state,
    appSecret,
    sign,
    deliver: (webhookUrl, body, path = "/whatsapp/default") =>
      callWebhook(webhookUrl, { ...sign(body), path }),
    challenge: (webhookUrl, verifyToken, challenge = "1158201444") =>
      callWebhook(webhookUrl, challengeRequest(verifyToken, challenge)),
  };
}

export function signMeta(secret: string, body: string): SignedRequest {
  const signature = createHmac("sha256", secret).update(body).digest("hex");
  return {
    method: "POST",
    path: "/whatsapp/default",
    headers: { "content-type": "application/json", "x-hub-signature-256": `sha256=${signature}` },
    body,
  };
}

export function challengeRequest(verifyToken: string, challenge: string): SignedRequest {
  const query = new URLSearchParams({
    "hub.mode": "subscribe",
    "hub.challenge": challenge,
    "hub.verify_token": verifyToken,
  });
  return { method: "GET", path: `/whatsapp/default?${query}`, headers: {} };
}

interface State {
  accessToken: string;
  phoneNumberId: string;
  sent: WhatsappSent[];
  typing: string[];
  /** The business's reaction to each message, by its id. */
  reactions: Map<string, string>;
  away: Set<string>;
  media: WhatsappMedia;
  uploads: WhatsappUploads;
}

function answer(call: PlatformCall, state: State): PlatformReply {
  if (call.headers.authorization !== `Bearer ${state.accessToken}`)
    return graphError(401, 190, "Invalid OAuth access token - Cannot parse access token");
  const media = answerMedia(call, state.media, state.phoneNumberId);
  if (media) return media;
  const [, phoneNumberId, edge] = /^\/v\d+\.\d+\/(\d+)(\/messages|\/media)?$/.exec(call.path) ?? [];
  if (call.method !== (edge ? "POST" : "GET") || !phoneNumberId)
    return graphError(400, 2500, "Unknown path components");
  if (phoneNumberId !== state.phoneNumberId)
    return graphError(400, 100, `Unsupported post request. Object with ID '${phoneNumberId}' does not exist`);
  if (!edge) {
    const number = { display_phone_number: "+1 555-0100", verified_name: "Gsv", id: phoneNumberId };
    return { status: 200, body: number };
  }
  if (edge === "/media") return upload(call, state.uploads);
  const body = call.body ?? {};
  if (body.messaging_product !== "whatsapp")
    return graphError(400, 100, "(#100) The parameter messaging_product is required.");
  if (body.type === "reaction") return react(body, state);
  return body.status === undefined ? sendMessage(body, state) : markRead(body, state);
}

const maxText = 4096;

const missing = "Required parameter is missing";

function sendMessage(body: Record<string, unknown>, { sent, away, uploads }: State): PlatformReply {
  const to = body.to ?? body.recipient;
  if (body.recipient_type !== undefined && body.recipient_type !== "individual")
    return graphError(400, 100, "(#100) Param recipient_type must be one of {individual}");
  if (typeof to !== "string" || (body.to !== undefined && !/^\+?\d{5,15}$/.test(to)))
    return graphError(400, 131009, "Parameter value is not valid");
  const file = shownFile(body, uploads);
  const buttons = buttonsOf(body);
  if (buttons === "wrong") return graphError(400, 131009, "Parameter value is not valid");
  if (buttons && (buttons.text === "" || buttons.text.length > 1024))
    return graphError(
      400,
      131009,
      "Parameter value is not valid",
      "Body text length invalid. Min length: 1, Max length: 1024",
    );
  const text = file
    ? { body: "" }
    : buttons
      ? { body: buttons.text }
      : (body.text as { body?: unknown; preview_url?: unknown } | undefined);
  if (!file && !buttons && (body.type !== "text" || text?.body === ""))
    return graphError(400, 131008, missing);
  if (typeof text?.body !== "string") return graphError(400, 131008, missing);
  if (text.body.length > maxText)
    return graphError(400, 131009, "Parameter value is not valid", "Param text['body'] must be at most 4096");
  const context = body.context as { message_id?: unknown } | undefined;
  if (context !== undefined && !String(context.message_id).startsWith("wamid."))
    return graphError(400, 131009, "Parameter value is not valid", "Invalid message_id in context");
  if (away.has(to)) return graphError(400, 131047, "(#131047) Re-engagement message", "More than 24 hours");
  const id = `wamid.HBgLTEST${String(sent.length + 1).padStart(8, "0")}=`;
  const replyTo = context ? { replyTo: String(context.message_id) } : {};
  sent.push({
    to,
    text: text.body,
    ...replyTo,
    id,
    ...(file ? { file } : {}),
    ...(buttons ? { buttons: buttons.replies } : {}),
  });
  const contacts = [{ input: to, wa_id: to.replace(/^\+/, "") }];
  return { status: 200, body: { messaging_product: "whatsapp", contacts, messages: [{ id }] } };
}

/** One to three reply buttons, with different titles of at most 20 characters and ids of at most 256. */
function buttonsOf({ type, interactive }: Record<string, unknown>) {
  if (type !== "interactive") return undefined;
  const { body, action } = interactive as {
    body?: { text?: string };
    action?: { buttons?: { type: string; reply: { id: string; title: string } }[] };
  };
  const replies = (action?.buttons ?? []).flatMap(({ type: kind, reply }) =>
    kind === "reply" ? [reply] : [],
  );
  const isRight = replies.every(({ id, title }) => title.length <= 20 && id.length <= 256);
  if (!isRight || replies.length < 1 || replies.length > 3) return "wrong" as const;
  return { text: body?.text ?? "", replies };
}

/** One reaction per message; another one replaces it. */
function react({ to, reaction }: Record<string, unknown>, { reactions }: State): PlatformReply {
  const { message_id, emoji } = (reaction ?? {}) as Record<string, string>;
  if (
    typeof to !== "string" ||
    !message_id?.startsWith("wamid.") ||
    !/^\p{Extended_Pictographic}/u.test(emoji ?? "")
  )
    return graphError(400, 131009, "Parameter value is not valid");
  reactions.set(message_id, emoji ?? "");
  return { status: 200, body: { messaging_product: "whatsapp", messages: [{ id: "wamid.HBgLREACTION=" }] } };
}

function markRead(body: Record<string, unknown>, { typing }: State): PlatformReply {
  const indicator = body.typing_indicator as { type?: unknown } | undefined;
  const isRight = body.status === "read" && String(body.message_id).startsWith("wamid.");
  if (!isRight || (indicator !== undefined && indicator.type !== "text"))
    return graphError(400, 131009, "Parameter value is not valid");
  if (indicator) typing.push(String(body.message_id));
  return { status: 200, body: { success: true } };
}

/** The Graph API's error object. */
export function graphError(status: number, code: number, message: string, details?: string): PlatformReply {
  const error_data = details === undefined ? {} : { error_data: { messaging_product: "whatsapp", details } };
  const error = {
    message,
    type: "OAuthException",
    code,
    ...error_data,
    fbtrace_id: "Az8or2yhqkZfEZ-_4Qn_Bam",
  };
  return { status, body: { error } };
}
