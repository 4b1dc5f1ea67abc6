import * as v from "valibot";
import type { Registration } from "../../protocol/channel-accounts.ts";
import { accountFields } from "../account.ts";
import type { AccountCheck, AccountSetup, ChannelAccount } from "../channel.ts";
import { callDiscord, type DiscordAnswer } from "./discord-api.ts";

const fields = accountFields([
  { name: "applicationId", about: "application ID (General Information)" },
  { name: "publicKey", about: "public key (General Information)" },
  { name: "botToken", about: "token (Bot → Reset Token)" },
]);

/**
 * The commands (https://docs.discord.com/developers/interactions/application-commands): in servers, and to
 * the bot.
 */
const commands = [
  {
    name: "gsv",
    type: 1,
    description: "Ask the agent",
    contexts: [0, 1],
    options: [
      { name: "message", description: "What to say", type: 3 },
      { name: "file", description: "What to look at", type: 11 },
    ],
  },
  { name: "Ask gsv", type: 3, contexts: [0, 1] },
];

const bot = v.object({ username: v.string() });
const application = v.object({
  id: v.string(),
  verify_key: v.string(),
  interactions_endpoint_url: v.nullish(v.string()),
});

/** Setup of Discord accounts: the REST API registers the commands and the interactions URL. */
export const discordAccount: AccountSetup = { fields, check, register };

async function check(account: ChannelAccount): Promise<AccountCheck> {
  const [user, app] = await Promise.all([
    callDiscord(account, { method: "GET", path: "/users/@me", asBot: true }),
    callDiscord(account, { method: "GET", path: "/applications/@me", asBot: true }),
  ]);
  for (const answer of [user, app]) if (!answer.ok) return { ok: false, reason: reasonOf(answer) };
  const known = v.safeParse(bot, user.ok && user.body);
  const found = v.safeParse(application, app.ok && app.body);
  if (!known.success || !found.success) return { ok: false, reason: "unexpected answer of Discord" };
  const { id, verify_key, interactions_endpoint_url } = found.output;
  const { applicationId, publicKey } = account.settings;
  if (id !== applicationId) return { ok: false, reason: `the token belongs to the application ${id}` };
  if (verify_key.toLowerCase() !== String(publicKey).toLowerCase())
    return { ok: false, reason: "the public key does not belong to the application" };
  return { ok: true, identity: known.output.username, webhook: { url: interactions_endpoint_url ?? "" } };
}

/** Discord calls the URL before it accepts it, so the account must be configured first. */
async function register(account: ChannelAccount, url: string): Promise<Registration> {
  const path = `/applications/${encodeURIComponent(String(account.settings.applicationId))}/commands`;
  const put = await callDiscord(account, { method: "PUT", path, asBot: true, body: commands });
  if (!put.ok) return { status: "failed", reason: reasonOf(put) };
  const body = { interactions_endpoint_url: url };
  const set = await callDiscord(account, { method: "PATCH", path: "/applications/@me", asBot: true, body });
  return set.ok ? { status: "registered" } : { status: "failed", reason: reasonOf(set) };
}

function reasonOf(answer: DiscordAnswer): string {
  return !answer.ok && "reason" in answer.outcome ? answer.outcome.reason : "";
}
