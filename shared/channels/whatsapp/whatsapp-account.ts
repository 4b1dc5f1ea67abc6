import * as v from "valibot";
import type { Registration } from "../../protocol/channel-accounts.ts";
import { accountFields } from "../account.ts";
import type { AccountCheck, AccountSetup, ChannelAccount } from "../channel.ts";
import { callGraph, phoneNumberOf } from "./whatsapp-api.ts";

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
export const whatsappAccount: AccountSetup = { fields, check, register };

async function check(account: ChannelAccount): Promise<AccountCheck> {
  const path = `${phoneNumberOf(account)}?fields=display_phone_number,verified_name`;
  const answer = await callGraph(account, path, { method: "GET" });
  if (!answer.ok) return { ok: false, reason: answer.failure.reason };
  const found = v.safeParse(phoneNumber, answer.body);
  if (!found.success) return { ok: false, reason: "the Graph API answers in another form" };
  const { display_phone_number, verified_name } = found.output;
  return { ok: true, identity: [display_phone_number, verified_name].filter(Boolean).join(" ") };
}

async function register(): Promise<Registration> {
  const todo =
    "WhatsApp → Configuration → Webhook: paste the URL and the verify token, and subscribe to the field messages";
  return { status: "manual", todo };
}
