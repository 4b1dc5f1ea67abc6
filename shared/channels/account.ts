import { type AccountSettings, type Configuration, configurationSecrets } from "../configuration/schema.ts";
import type { ConfigurationStore } from "../configuration/store.ts";
import type { Secrets } from "../world/world.ts";
import type { AccountField, Channel, ChannelAccount, ChannelAddress } from "./channel.ts";

/**
 * The fields that a channel needs. Their names are fields of the configuration's schema, which also declares
 * the secrets.
 */
export function accountFields(
  fields: readonly (Omit<AccountField, "secret"> & { name: keyof AccountSettings })[],
): readonly AccountField[] {
  return fields.map((field) => ({
    ...field,
    secret: configurationSecrets.includes(["channels", "any", "accounts", "any", field.name]),
  }));
}

/** The stores that accounts are read from. */
export interface AccountSource {
  configuration: Pick<ConfigurationStore, "load">;
  secrets: Pick<Secrets, "get">;
}

export type AccountLookup = { ok: true; account: ChannelAccount } | { ok: false; reason: string };

/**
 * Finds an account with its settings and secrets. Not ok, with the reason, when it is not configured, is
 * stopped, or lacks a required secret or setting: the caller must then not read or send anything. A missing
 * or stopped account is looked up again in the newest configuration.
 */
export async function findAccount(
  channel: Channel,
  accountId: string,
  { configuration, secrets }: AccountSource,
): Promise<AccountLookup> {
  const look = async (fresh: boolean) =>
    lookUpAccount(channel, accountId, await configuration.load({ fresh }), secrets);
  const found = await look(false);
  return found.ok ? found : look(true);
}

/**
 * Like `findAccount`, in a loaded configuration.
 * @param how `stopped`: true to find stopped accounts too; their setting `enabled` is false
 */
export async function lookUpAccount(
  channel: Channel,
  accountId: string,
  loaded: Configuration,
  secrets: Pick<Secrets, "get">,
  how: { stopped: boolean } = { stopped: false },
): Promise<AccountLookup> {
  const settings = accountSettings(loaded, { channel: channel.name, accountId });
  if (!settings) return { ok: false, reason: "not configured" };
  if (settings.enabled === false && !how.stopped) return { ok: false, reason: "stopped" };
  const account = await readAccount(channel, accountId, settings, secrets);
  const missing = missingFields(channel, account);
  if (missing.length > 0) return { ok: false, reason: `no ${missing.join(", ")} configured` };
  return { ok: true, account };
}

/** The configured settings of an account, with markers for secrets; undefined when there are none. */
export function accountSettings(
  { channels }: Pick<Configuration, "channels">,
  { channel, accountId }: ChannelAddress,
): AccountSettings | undefined {
  return ownValue(ownValue(channels, channel)?.accounts ?? {}, accountId);
}

/**
 * Whether an account is the gateway's own: it has at least one field that its channel needs. Other accounts
 * belong to bridges.
 */
export function isOwnAccount(channel: Channel | undefined, settings: AccountSettings | undefined): boolean {
  return channel?.fields.some(({ name }) => settings?.[name as keyof AccountSettings] !== undefined) ?? false;
}

/** An account made of its settings and its stored secrets. Required fields may be missing. */
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

/** The names of an account's missing fields. */
export function missingFields(channel: Channel, { settings, secrets }: ChannelAccount): string[] {
  const names = channel.fields.filter(({ name, secret }) => !(secret ? secrets : settings)[name]);
  return names.map(({ name }) => name);
}

/** An object's own property. Names may come from a URL, so inherited properties are ignored. */
export function ownValue<T>(record: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}
