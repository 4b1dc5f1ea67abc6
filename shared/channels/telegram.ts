import * as v from "valibot";
import {
  type Channel,
  type ChannelAccount,
  type Destination,
  type MediaLocation,
  type OutboundMessage,
  refused,
  type SendOutcome,
  sendTimeoutMs,
} from "./channel.ts";
import { failedSend } from "./platform-call.ts";
import { isSameSecret } from "./signature.ts";
import { telegramAccount } from "./telegram-account.ts";
import { botApiUrl, callBotApi } from "./telegram-api.ts";
import { parseUpdate, readMessage } from "./telegram-update.ts";

/** The secret that setWebhook was given (https://core.telegram.org/bots/api#setwebhook). */
const secretHeader = "x-telegram-bot-api-secret-token";

/** Telegram, by a bot's webhook and the Bot API (https://core.telegram.org/bots/api). */
export function createTelegram(): Channel {
  // A bot's username is asked for once by a warm function, and only when a room makes it matter.
  const usernames = new Map<string, string>();
  return {
    name: "telegram",
    maxText: 4096,
    ...telegramAccount,
    async receive({ method, headers, body }, account) {
      if (method !== "POST") return refused(405, "only POST");
      if (!isSameSecret(headers[secretHeader], account.secrets.webhookSecret))
        return refused(401, "wrong secret");
      const update = parseUpdate(body);
      if (!update) return refused(400, "not an update of the Bot API");
      const message = await readMessage(update, {
        id: Number(account.secrets.botToken?.split(":")[0]),
        username: () => findUsername(usernames, account),
      });
      return { status: "messages", messages: message ? [message] : [] };
    },
    send: (account, message) => send(account, message),
    async typing(account, destination) {
      await callBotApi(account, "sendChatAction", { ...chatOf(destination), action: "typing" });
    },
    locate,
  };
}

async function send(
  account: ChannelAccount,
  message: OutboundMessage,
  signal = AbortSignal.timeout(sendTimeoutMs),
): Promise<SendOutcome> {
  const { peer, text, replyToId, context } = message;
  const reply = peer.kind !== "dm" && replyToId !== undefined ? replyTo(replyToId) : {};
  const answer = await callBotApi(account, "sendMessage", { ...chatOf(message), text, ...reply }, signal);
  if (answer.ok) {
    const sent = v.safeParse(v.object({ message_id: v.number() }), answer.result);
    return { status: "sent", ...(sent.success ? { messageId: String(sent.output.message_id) } : {}) };
  }
  // A topic of a direct message that is gone, or that Telegram no longer takes, is not worth the answer.
  if (context?.threadId !== undefined && answer.reason.includes("thread not found"))
    return send(account, { ...message, context: undefined }, signal);
  return failedSend(answer.retryable, answer.reason, answer.retryAfterMs);
}

/** Files are fetched by a path that is good for an hour (https://core.telegram.org/bots/api#getfile), up to 20 MB. */
async function locate(
  account: ChannelAccount,
  { fileId }: Readonly<Record<string, string>>,
): Promise<MediaLocation> {
  const answer = await callBotApi(account, "getFile", { file_id: fileId });
  if (!answer.ok) return failedSend(answer.retryable, answer.reason);
  const found = v.safeParse(v.object({ file_path: v.string() }), answer.result);
  if (!found.success) return failedSend(false, "Telegram names no file");
  const path = found.output.file_path.split("/").map(encodeURIComponent).join("/");
  return { status: "found", url: botApiUrl(account, path, "/file") };
}

/** A message that was deleted meanwhile is still answered. */
function replyTo(messageId: string) {
  return { reply_parameters: { message_id: Number(messageId), allow_sending_without_reply: true } };
}

function chatOf({ peer, context }: Destination) {
  const [chat, thread = context?.threadId] = peer.id.split("/");
  return { chat_id: chat, ...(thread === undefined ? {} : { message_thread_id: Number(thread) }) };
}

async function findUsername(usernames: Map<string, string>, account: ChannelAccount): Promise<string> {
  const key = JSON.stringify([account.settings.apiBaseUrl, account.secrets.botToken]);
  const known = usernames.get(key);
  if (known !== undefined) return known;
  const answer = await callBotApi(account, "getMe", {});
  if (!answer.ok) throw new Error(`the bot's username is not known: ${answer.reason}`);
  const { username } = v.parse(v.object({ username: v.string() }), answer.result);
  usernames.set(key, username);
  return username;
}
