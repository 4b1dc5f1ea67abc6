import * as v from "valibot";
import { failedSend, fileOf } from "../../http/platform-call.ts";
import type { Registration } from "../../protocol/channel-accounts.ts";
import type { Mark } from "../../protocol/events.ts";
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
  type MediaLocation,
  type OutboundMessage,
  refused,
  type SendOutcome,
  sendFileTimeoutMs,
  sendTimeoutMs,
} from "../channel.ts";
import { isSameSecret } from "../signature.ts";
import { botApiUrl, callBotApi } from "./telegram-api.ts";
import { parseUpdate, readMessage, readMove, readPress, readReaction } from "./telegram-update.ts";

/** The header with the secret given to setWebhook (https://core.telegram.org/bots/api#setwebhook). */
const secretHeader = "x-telegram-bot-api-secret-token";

/** Telegram, by a bot's webhook and the Bot API (https://core.telegram.org/bots/api). */
export function createTelegram(): Channel {
  // A warm function requests a bot's username once, and only when a message in a room needs it.
  const usernames = new Map<string, string>();
  return {
    name: "telegram",
    maxText: 4096,
    format: async () => (await import("./telegram-format.ts")).telegramFormat,
    ...telegramAccount,
    async receive({ method, headers, body }, account) {
      if (method !== "POST") return refused(405, "only POST");
      if (!isSameSecret(headers[secretHeader], account.secrets.webhookSecret))
        return refused(401, "wrong secret");
      const update = parseUpdate(body);
      if (!update) return refused(400, "not an update of the Bot API");
      const moved = readMove(update);
      // Logged for the operator, who has to replace the old id in `allowFrom`.
      if (moved) log("telegram.migrated", { accountId: account.accountId, ...moved });
      const message = await readMessage(update, {
        id: Number(account.secrets.botToken?.split(":")[0]),
        username: () => findUsername(usernames, account),
      });
      const press = readPress(update);
      const reaction = readReaction(update);
      return {
        status: "messages",
        messages: message ? [message] : [],
        ...(press ? { presses: [press] } : {}),
        ...(reaction ? { reactions: [reaction] } : {}),
      };
    },
    send: sendText,
    sendFile,
    buttons: telegramButtons,
    async typing(account, destination) {
      await callBotApi(account, "sendChatAction", { ...chatOf(destination), action: "typing" });
    },
    async mark(account, { peer, messageId }, mark) {
      const reaction = [{ type: "emoji", emoji: emojis[mark] }];
      const { chat_id } = chatOf({ peer });
      await callBotApi(account, "setMessageReaction", { chat_id, message_id: Number(messageId), reaction });
    },
    locate,
  };
}

/** Of the few that the Bot API accepts (https://core.telegram.org/bots/api#reactiontypeemoji); ✅ is none of them. */
const emojis: Record<Mark, string> = { accepted: "👀", answered: "👌", failed: "😢" };

/**
 * Files are downloaded by a path that is valid for an hour (https://core.telegram.org/bots/api#getfile), up
 * to 20 MB.
 */
async function locate(
  account: ChannelAccount,
  { fileId }: Readonly<Record<string, string>>,
): Promise<MediaLocation> {
  const answer = await callBotApi(account, "getFile", { file_id: fileId });
  if (!answer.ok) return failedSend(answer.retryable, answer.reason);
  const found = v.safeParse(v.object({ file_path: v.string() }), answer.result);
  if (!found.success) return failedSend(false, "Telegram returned no file path");
  const { file_path } = found.output;
  // https://core.telegram.org/bots/api#using-a-local-bot-api-server: the path is then a file on that server's
  // disk.
  if (file_path.startsWith("/"))
    return failedSend(false, "the Bot API server runs with --local and does not serve the file");
  const path = file_path.split("/").map(encodeURIComponent).join("/");
  return { status: "found", url: botApiUrl(account, path, "/file") };
}

async function findUsername(usernames: Map<string, string>, account: ChannelAccount): Promise<string> {
  const key = JSON.stringify([account.settings.apiBaseUrl, account.secrets.botToken]);
  const known = usernames.get(key);
  if (known !== undefined) return known;
  const answer = await callBotApi(account, "getMe", {});
  if (!answer.ok) throw new Error(`cannot read the bot's username: ${answer.reason}`);
  const { username } = v.parse(v.object({ username: v.string() }), answer.result);
  usernames.set(key, username);
  return username;
}

const fields = accountFields([
  { name: "botToken", about: "bot token, from @BotFather" },
  { name: "webhookSecret", about: "webhook secret: letters, digits, _ and -", free: true },
]);

const me = v.object({ id: v.number(), username: v.string() });

const webhookInfo = v.object({
  url: v.string(),
  /** Epoch seconds. */
  last_error_date: v.optional(v.number()),
  last_error_message: v.optional(v.string()),
});

/** Setup of Telegram accounts: the Bot API registers the webhook. */
const telegramAccount: AccountSetup = { fields, check, register, unregister };

async function check(account: ChannelAccount): Promise<AccountCheck> {
  const [bot, webhook] = await Promise.all([
    callBotApi(account, "getMe", {}),
    callBotApi(account, "getWebhookInfo", {}),
  ]);
  const failed = bot.ok ? webhook : bot;
  if (!failed.ok) return { ok: false, reason: failed.reason };
  const known = v.safeParse(me, bot.ok && bot.result);
  const info = v.safeParse(webhookInfo, webhook.ok && webhook.result);
  if (!known.success || !info.success) return { ok: false, reason: "unexpected answer of the Bot API" };
  const { url, last_error_date, last_error_message } = info.output;
  const lastError = last_error_message === undefined ? {} : { lastError: last_error_message };
  const at = last_error_date === undefined ? {} : { lastErrorAt: last_error_date * 1000 };
  return { ok: true, identity: `@${known.output.username}`, webhook: { url, ...lastError, ...at } };
}

async function register(account: ChannelAccount, url: string): Promise<Registration> {
  const answer = await callBotApi(account, "setWebhook", {
    url,
    secret_token: account.secrets.webhookSecret,
    allowed_updates: [
      ...["message", "channel_post", "edited_message", "edited_channel_post"],
      ...["callback_query", "message_reaction"],
    ],
  });
  if (answer.ok) return { status: "registered" };
  return { status: "failed", reason: answer.reason };
}

async function unregister(account: ChannelAccount): Promise<void> {
  await callBotApi(account, "deleteWebhook", {});
}

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
async function sendText(
  account: ChannelAccount,
  { text, formatting, ...to }: OutboundMessage,
): Promise<SendOutcome> {
  const signal = AbortSignal.timeout(sendTimeoutMs);
  const send = (content: object) =>
    sendTo(account, to, "sendMessage", { ...content, link_preview_options }, signal);
  const outcome = await send({ text, ...formatting });
  const isRefused = formatting && outcome.status === "failed" && /entit/i.test(outcome.reason);
  return isRefused ? send({ text }) : outcome;
}

/** Sends a file (https://core.telegram.org/bots/api#sending-files). */
async function sendFile(account: ChannelAccount, { file, ...to }: FileMessage): Promise<SendOutcome> {
  const signal = AbortSignal.timeout(sendFileTimeoutMs);
  const content = fileOf(file);
  const [method, field] = ownValue(methods, file.mimeType) ?? [];
  if (method && field) {
    const outcome = await sendTo(account, to, method, { [field]: content }, signal);
    if (outcome.status !== "failed") return outcome;
  }
  return sendTo(account, to, "sendDocument", { document: content }, signal);
}

/** Buttons under a message (https://core.telegram.org/bots/api#inlinekeyboardmarkup), two in a row. */
const telegramButtons: Buttons = {
  maxText: 4096,
  maxChoices: 4,
  ask(account, { text, choices, ...to }) {
    const keys = choices.map(({ label, data }) => ({ text: label, callback_data: data }));
    const rows = keys.flatMap((_, index) => (index % 2 === 0 ? [keys.slice(index, index + 2)] : []));
    const content = { text, link_preview_options, reply_markup: { inline_keyboard: rows } };
    return sendTo(account, to, "sendMessage", content, AbortSignal.timeout(sendTimeoutMs));
  },
  /** A change without `reply_markup` removes the buttons (https://core.telegram.org/bots/api#editmessagetext). */
  async close(account, { peer, messageId }, text) {
    const params = {
      chat_id: chatOf({ peer }).chat_id,
      message_id: Number(messageId),
      text,
      link_preview_options,
    };
    const answer = await callBotApi(account, "editMessageText", params);
    // The text is the same: it was changed before.
    if (answer.ok || answer.reason.includes("message is not modified")) return { status: "sent", messageId };
    return failedSend(answer.retryable, answer.reason, answer.retryAfterMs);
  },
  async respond(account, { eventId }, { text }) {
    await callBotApi(account, "answerCallbackQuery", { callback_query_id: eventId, text });
  },
};

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
function chatOf({ peer, context }: Destination) {
  const [chat, thread = context?.threadId] = peer.id.split("/");
  return { chat_id: chat, ...(thread === undefined ? {} : { message_thread_id: Number(thread) }) };
}
