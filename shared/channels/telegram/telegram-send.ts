import * as v from "valibot";
import { failedSend, fileOf } from "../../http/platform-call.ts";
import { ownValue } from "../account.ts";
import {
  type ChannelAccount,
  type Destination,
  type FileMessage,
  type OutboundMessage,
  type SendOutcome,
  sendFileTimeoutMs,
  sendTimeoutMs,
} from "../channel.ts";
import { callBotApi } from "./telegram-api.ts";

/**
 * Methods for files that Telegram shows or plays. Other files, and files that these methods refuse, are sent
 * as documents.
 */
const methods: Record<string, [method: string, field: string]> = {
  "image/jpeg": ["sendPhoto", "photo"],
  "image/png": ["sendPhoto", "photo"],
  "image/webp": ["sendPhoto", "photo"],
  "audio/ogg": ["sendVoice", "voice"],
  "audio/mpeg": ["sendAudio", "audio"],
  "audio/mp4": ["sendAudio", "audio"],
  "video/mp4": ["sendVideo", "video"],
};

/**
 * No previews: Telegram would fetch URLs in the text, which could leak data that the agent was tricked into
 * writing there.
 */
const link_preview_options = { is_disabled: true };

/** Sends a text (https://core.telegram.org/bots/api#sendmessage). */
export function sendText(account: ChannelAccount, { text, ...to }: OutboundMessage): Promise<SendOutcome> {
  const content = { text, link_preview_options };
  return sendTo(account, to, "sendMessage", content, AbortSignal.timeout(sendTimeoutMs));
}

/** Sends a file (https://core.telegram.org/bots/api#sending-files). */
export async function sendFile(account: ChannelAccount, { file, ...to }: FileMessage): Promise<SendOutcome> {
  const signal = AbortSignal.timeout(sendFileTimeoutMs);
  const content = fileOf(file);
  const [method, field] = ownValue(methods, file.mimeType) ?? [];
  if (method && field) {
    const outcome = await sendTo(account, to, method, { [field]: content }, signal);
    if (outcome.status !== "failed") return outcome;
  }
  return sendTo(account, to, "sendDocument", { document: content }, signal);
}

async function sendTo(
  account: ChannelAccount,
  to: Destination,
  method: string,
  content: object,
  signal: AbortSignal,
): Promise<SendOutcome> {
  const { peer, replyToId, context } = to;
  const reply = peer.kind !== "dm" && replyToId !== undefined ? replyTo(replyToId) : {};
  const answer = await callBotApi(account, method, { ...chatOf(to), ...content, ...reply }, signal);
  if (answer.ok) {
    const sent = v.safeParse(v.object({ message_id: v.number() }), answer.result);
    return { status: "sent", ...(sent.success ? { messageId: String(sent.output.message_id) } : {}) };
  }
  // If the topic of a direct message no longer exists, send the answer without the topic.
  if (context?.threadId !== undefined && answer.reason.includes("thread not found"))
    return sendTo(account, { ...to, context: undefined }, method, content, signal);
  // The supergroup has new message ids, so the message to reply to does not exist there.
  if (answer.movedTo !== undefined)
    return sendTo(account, { peer: { ...peer, id: answer.movedTo } }, method, content, signal);
  return failedSend(answer.retryable, answer.reason, answer.retryAfterMs);
}

/** The answer is sent even if the message to reply to was deleted. */
function replyTo(messageId: string) {
  return { reply_parameters: { message_id: Number(messageId), allow_sending_without_reply: true } };
}

/** The chat and its topic, if any. */
export function chatOf({ peer, context }: Destination) {
  const [chat, thread = context?.threadId] = peer.id.split("/");
  return { chat_id: chat, ...(thread === undefined ? {} : { message_thread_id: Number(thread) }) };
}
