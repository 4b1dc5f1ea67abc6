import * as v from "valibot";
import type { Registration } from "../../protocol/channel-accounts.ts";
import { accountFields } from "../account.ts";
import type { AccountCheck, AccountSetup, ChannelAccount } from "../channel.ts";
import { callSlack } from "./slack-api.ts";

const fields = accountFields([
  { name: "botToken", about: "bot token, xoxb-… (OAuth & Permissions)" },
  { name: "signingSecret", about: "signing secret (Basic Information)" },
]);

const known = v.object({ user: v.string(), team: v.string() });

/** Setup of Slack accounts: the operator registers the webhook, because Slack has no API for it. */
export const slackAccount: AccountSetup = { fields, check, register };

async function check(account: ChannelAccount): Promise<AccountCheck> {
  const answer = await callSlack(account, "auth.test", { body: {} });
  if (!answer.ok) return { ok: false, reason: answer.failure.reason };
  const found = v.safeParse(known, answer.body);
  if (!found.success) return { ok: false, reason: "Slack answers in another form" };
  const { user, team } = found.output;
  return { ok: true, identity: `@${user} in ${team}` };
}

async function register(): Promise<Registration> {
  const todo = "Event Subscriptions → on: paste the URL, subscribe to message.im and app_mention, and save";
  return { status: "manual", todo };
}
