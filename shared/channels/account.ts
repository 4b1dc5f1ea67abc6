import { type AccountSettings, type Configuration, configurationSecrets } from "../configuration/schema.ts";
import type { ConfigurationStore } from "../configuration/store.ts";
import type { Secrets } from "../world/world.ts";
import type { AccountField, Channel, ChannelAccount, ChannelAddress } from "./channel.ts";

/**
 * The fields that a channel asks for. A name is one of the configuration's schema, which also says which are
 * secrets.
 */
export function accountFields(
  fields: readonly (Omit<AccountField, "secret"> & { name: keyof AccountSettings })[],
): readonly AccountField[] {
  return fields.map((field) => ({
    ...field,
    secret: configurationSecrets.includes(["channels", "any", "accounts", "any", field.name]),
  }));
}

/** Where accounts are found. */
export interface AccountSource {
  configuration: Pick<ConfigurationStore, "load">;
  secrets: Pick<Secrets, "get">;
}

export type AccountLookup = { ok: true; account: ChannelAccount } | { ok: false; reason: string };

/**
 * The account of a channel with its settings and secrets. Not ok, with the reason, when it is not configured,
 * is stopped, or lacks a secret or a setting that the channel requires: then nothing is to be read or sent.
 * What is not there, or stopped, is looked at once more in the newest configuration: it may have been added
 * or started just now.
 * @param how `stopped`: also an account that is stopped, which shows by its setting `enabled`
 */
export async function findAccount(
  channel: Channel,
  accountId: string,
  { configuration, secrets }: AccountSource,
  how: { stopped: boolean } = { stopped: false },
): Promise<AccountLookup> {
  const look = async (fresh: boolean): Promise<AccountLookup> => {
    const loaded = await configuration.load({ fresh });
    const settings = accountSettings(loaded, { channel: channel.name, accountId });
    if (!settings) return { ok: false, reason: "not configured" };
    if (settings.enabled === false && !how.stopped) return { ok: false, reason: "stopped" };
    const account = await readAccount(channel, accountId, settings, secrets);
    const missing = missingFields(channel, account);
    if (missing.length > 0) return { ok: false, reason: `no ${missing.join(", ")} configured` };
    return { ok: true, account };
  };
  const found = await look(false);
  const isRunning = found.ok && found.account.settings.enabled !== false;
  return isRunning ? found : look(true);
}

/** What is configured of an account, secrets as markers; undefined where nothing is. */
export function accountSettings(
  { channels }: Pick<Configuration, "channels">,
  { channel, accountId }: ChannelAddress,
): AccountSettings | undefined {
  return ownValue(ownValue(channels, channel)?.accounts ?? {}, accountId);
}

/**
 * Whether an account is the gateway's own: with something in it that its platform needs. Any other is a
 * bridge's.
 */
export function isOwnAccount(channel: Channel | undefined, settings: AccountSettings | undefined): boolean {
  return channel?.fields.some(({ name }) => settings?.[name as keyof AccountSettings] !== undefined) ?? false;
}

/** The account that settings make with the secrets that the parameter store has for it, complete or not. */
export async function readAccount(
  channel: Channel,
  accountId: string,
  settings: AccountSettings,
  secrets: Pick<Secrets, "get">,
): Promise<ChannelAccount> {
  const names = channel.fields.filter(({ secret }) => secret).map(({ name }) => name);
  const path = `channels.${channel.name}.accounts.${accountId}`;
  const values = await Promise.all(names.map((name) => secrets.get(`${path}.${name}`)));
  return {
    accountId,
    settings,
    secrets: Object.fromEntries(names.map((name, index) => [name, values[index]])),
  };
}

/** The names of the fields that an account lacks. */
export function missingFields(channel: Channel, { settings, secrets }: ChannelAccount): string[] {
  const names = channel.fields.filter(({ name, secret }) => !(secret ? secrets : settings)[name]);
  return names.map(({ name }) => name);
}

/** Names may come from a URL: what an object inherits is not found. */
export function ownValue<T>(record: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}
