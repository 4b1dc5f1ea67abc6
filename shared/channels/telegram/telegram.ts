import * as v from "valibot";
import { failedSend } from "../../http/platform-call.ts";
import { log } from "../../runtime/log.ts";
import { type Channel, type ChannelAccount, type MediaLocation, refused } from "../channel.ts";
import { isSameSecret } from "../signature.ts";
import { telegramAccount } from "./telegram-account.ts";
import { botApiUrl, callBotApi } from "./telegram-api.ts";
import { chatOf, sendFile, sendText } from "./telegram-send.ts";
import { parseUpdate, readMessage, readMove } from "./telegram-update.ts";

/** The header with the secret given to setWebhook (https://core.telegram.org/bots/api#setwebhook). */
const secretHeader = "x-telegram-bot-api-secret-token";

/** Telegram, by a bot's webhook and the Bot API (https://core.telegram.org/bots/api). */
export function createTelegram(): Channel {
  // A warm function requests a bot's username once, and only when a message in a room needs it.
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
      const moved = readMove(update);
      // The operator replaces the old id by this one in `allowFrom`.
      if (moved) log("telegram.migrated", { accountId: account.accountId, ...moved });
      const message = await readMessage(update, {
        id: Number(account.secrets.botToken?.split(":")[0]),
        username: () => findUsername(usernames, account),
      });
      return { status: "messages", messages: message ? [message] : [] };
    },
    send: sendText,
    sendFile,
    async typing(account, destination) {
      await callBotApi(account, "sendChatAction", { ...chatOf(destination), action: "typing" });
    },
    locate,
  };
}

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
  if (!found.success) return failedSend(false, "Telegram names no file");
  const { file_path } = found.output;
  // https://core.telegram.org/bots/api#using-a-local-bot-api-server: the path is then a file on that server's
  // disk.
  if (file_path.startsWith("/"))
    return failedSend(false, "the Bot API server runs with --local and keeps the file to itself");
  const path = file_path.split("/").map(encodeURIComponent).join("/");
  return { status: "found", url: botApiUrl(account, path, "/file") };
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
