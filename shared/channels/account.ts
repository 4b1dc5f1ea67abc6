import type { Secrets } from "../aws/secrets.ts";
import type { Configuration } from "../configuration/schema.ts";
import type { Channel, ChannelAccount } from "./channel.ts";

export type AccountLookup = { ok: true; account: ChannelAccount } | { ok: false; reason: string };

/**
 * The account of a channel with its settings and secrets. Not ok, with the reason, when it is not configured, is
 * disabled, or lacks a secret or a setting that the channel requires: then nothing is to be read or sent.
 */
export async function findAccount(
  channel: Channel,
  accountId: string,
  configuration: Pick<Configuration, "channels">,
  secrets: Pick<Secrets, "get">,
): Promise<AccountLookup> {
  const accounts = ownValue(configuration.channels, channel.name)?.accounts ?? {};
  const settings = ownValue(accounts, accountId);
  if (!settings) return { ok: false, reason: "not configured" };
  if (settings.enabled === false) return { ok: false, reason: "disabled" };
  const unset = channel.requiredSettings.filter((name) => !settings[name as keyof typeof settings]);
  if (unset.length > 0) return { ok: false, reason: `no ${unset.join(", ")} configured` };
  const path = `channels.${channel.name}.accounts.${accountId}`;
  const values = await Promise.all(channel.requiredSecrets.map((name) => secrets.get(`${path}.${name}`)));
  const missing = channel.requiredSecrets.filter((_, index) => !values[index]);
  if (missing.length > 0) return { ok: false, reason: `no ${missing.join(", ")} configured` };
  const found = channel.requiredSecrets.map((name, index) => [name, values[index]]);
  return { ok: true, account: { accountId, settings, secrets: Object.fromEntries(found) } };
}

/** Names may come from a URL: what an object inherits is not found. */
export function ownValue<T>(record: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}
