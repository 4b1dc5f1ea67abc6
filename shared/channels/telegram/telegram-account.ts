import * as v from "valibot";
import type { Registration } from "../../protocol/channel-accounts.ts";
import { accountFields } from "../account.ts";
import type { AccountCheck, AccountSetup, ChannelAccount } from "../channel.ts";
import { callBotApi } from "./telegram-api.ts";

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
export const telegramAccount: AccountSetup = { fields, check, register, unregister };

async function check(account: ChannelAccount): Promise<AccountCheck> {
  const [bot, webhook] = await Promise.all([
    callBotApi(account, "getMe", {}),
    callBotApi(account, "getWebhookInfo", {}),
  ]);
  const failed = bot.ok ? webhook : bot;
  if (!failed.ok) return { ok: false, reason: failed.reason };
  const known = v.safeParse(me, bot.ok && bot.result);
  const info = v.safeParse(webhookInfo, webhook.ok && webhook.result);
  if (!known.success || !info.success) return { ok: false, reason: "the Bot API answers in another form" };
  const { url, last_error_date, last_error_message } = info.output;
  const lastError = last_error_message === undefined ? {} : { lastError: last_error_message };
  const at = last_error_date === undefined ? {} : { lastErrorAt: last_error_date * 1000 };
  return { ok: true, identity: `@${known.output.username}`, webhook: { url, ...lastError, ...at } };
}

async function register(account: ChannelAccount, url: string): Promise<Registration> {
  const answer = await callBotApi(account, "setWebhook", {
    url,
    secret_token: account.secrets.webhookSecret,
    allowed_updates: ["message", "channel_post"],
  });
  if (answer.ok) return { status: "registered" };
  return { status: "failed", reason: answer.reason };
}

async function unregister(account: ChannelAccount): Promise<void> {
  await callBotApi(account, "deleteWebhook", {});
}
