import { formatPath } from "../configuration/configuration-paths.ts";
import { secretMarker } from "../configuration/secret.ts";
import type { ConfigurationStore } from "../configuration/store.ts";
import type { StartedAccount } from "../protocol/channel-accounts.ts";
import { code, PeerError } from "../protocol/errors.ts";
import { log } from "../runtime/log.ts";
import type { Secrets, Table } from "../world/world.ts";
import { accountSettings, isOwnAccount, missingFields, ownValue, readAccount } from "./account.ts";
import { type Activity, forgetActivity } from "./activity.ts";
import type { Bridges } from "./bridge/bridge.ts";
import type { Channel, ChannelAccount, ChannelAddress, Channels } from "./channel.ts";
import { closeRequest, listRequests } from "./inbound/pairing.ts";

/** The dependencies of account management. */
export interface AccountTools {
  table: Table;
  secrets: Pick<Secrets, "get">;
  configuration: ConfigurationStore;
  channels: Channels;
  activity: Activity;
  bridges: Bridges;
  /** Ends in a slash; absent when no function receives webhooks. */
  webhookUrl?: string;
  now: () => number;
}

/** Settings that every account accepts in addition to its channel's fields. */
const commonSettings = ["agentId", "apiBaseUrl"];

/**
 * Starts an account with its stored settings and secrets, changed by `given`. The platform verifies the
 * credentials before anything is stored. Then the webhook is registered there. Safe to repeat.
 * @param given settings and secrets by their configuration names
 * @throws PeerError 404 for an unknown channel, and for an account that is neither stored nor given; 400 for a missing
 * or unknown field and for credentials that the platform refuses
 */
export async function startAccount(
  accounts: AccountTools,
  address: ChannelAddress,
  given: Readonly<Record<string, unknown>> = {},
): Promise<StartedAccount> {
  const channel = findChannel(accounts, address.channel);
  const added = checkGiven(channel, given);
  const configuration = await accounts.configuration.load({ fresh: true });
  const known = accountSettings(configuration, address);
  if (!known && Object.keys(added).length === 0) throw noAccount(accounts, address);
  const stored = await readAccount(channel, address.accountId, known ?? {}, accounts.secrets);
  const account = withGiven(channel, stored, added);
  const missing = missingFields(channel, account);
  if (missing.length > 0) {
    const message = `config: ${channel.name} needs ${missing.join(", ")}; ${howToAdd(address)} asks for them`;
    throw new PeerError(code.badRequest, message);
  }
  const checked = await channel.check(account);
  if (!checked.ok) {
    const message = `${channel.name} rejects these credentials: ${checked.reason}`;
    throw new PeerError(code.badRequest, message);
  }
  await accounts.configuration.change(pathOf(address), (settings) => {
    const { enabled: _enabled, ...kept } = (settings ?? {}) as Record<string, unknown>;
    return { ...kept, ...added };
  });
  const webhookUrl = webhookUrlOf(accounts, address);
  const registration = await channel.register(account, webhookUrl);
  await accounts.activity.started(address);
  log("channel.started", { ...address, registration: registration.status });
  return { identity: checked.identity, webhookUrl, registration };
}

/** Enables a bridge's account when it is stopped. False for any other account. */
export async function startBridge(accounts: AccountTools, address: ChannelAddress): Promise<boolean> {
  if (!(await isBridged(accounts, address))) return false;
  await accounts.configuration.change(pathOf(address), (settings) => {
    const { enabled: _enabled, ...kept } = (settings ?? {}) as Record<string, unknown>;
    return Object.keys(kept).length > 0 ? kept : null;
  });
  log("channel.started", { ...address });
  return true;
}

/**
 * Stops an account: inbound messages are dropped and nothing is sent.
 * @throws PeerError 404 for an unknown account
 */
export async function stopAccount(accounts: AccountTools, address: ChannelAddress): Promise<void> {
  await findSettings(accounts, address);
  await accounts.configuration.change(pathOf(address), (settings) => ({
    ...(settings as object),
    enabled: false,
  }));
  log("channel.stopped", { ...address });
}

/**
 * Removes an account: its settings, secrets and pairing requests. The webhook is removed from the platform if
 * its API allows it.
 * @throws PeerError 404 for an unknown account */
export async function removeAccount(accounts: AccountTools, address: ChannelAddress): Promise<void> {
  const settings = await findSettings(accounts, address);
  const channel = ownValue(accounts.channels, address.channel);
  if (channel?.unregister) {
    const account = await readAccount(channel, address.accountId, settings, accounts.secrets);
    if (missingFields(channel, account).length === 0) await channel.unregister(account);
  }
  await accounts.configuration.set(pathOf(address), null);
  await accounts.bridges.forget(address);
  const requests = await listRequests(accounts.table, accounts.now(), { channel: address.channel });
  for (const request of requests)
    if (request.accountId === address.accountId) await closeRequest(accounts.table, request, accounts.now());
  await forgetActivity(accounts.table, address);
  log("channel.removed", { ...address });
}

/** @throws PeerError 404 */
export function findChannel({ channels }: Pick<AccountTools, "channels">, name: string): Channel {
  const channel = ownValue(channels, name);
  if (channel) return channel;
  const message = `unknown channel ${name}; use one of ${Object.keys(channels).join(", ")}`;
  throw new PeerError(code.notFound, message);
}

/** The webhook URL of an account. */
export function webhookUrlOf(
  { webhookUrl = "" }: Pick<AccountTools, "webhookUrl">,
  address: ChannelAddress,
): string {
  return `${webhookUrl}${address.channel}/${address.accountId}`;
}

function pathOf({ channel, accountId }: ChannelAddress): string {
  return formatPath(["channels", channel, "accounts", accountId]);
}

type Settings = NonNullable<ReturnType<typeof accountSettings>>;

/**
 * The configured settings of an account or of a bridge's account.
 * @throws PeerError 404 for an unknown account
 */
async function findSettings(accounts: AccountTools, address: ChannelAddress): Promise<Settings> {
  const settings = accountSettings(await accounts.configuration.load({ fresh: true }), address);
  if (settings) return settings;
  if (await isBridged(accounts, address)) return {};
  throw noAccount(accounts, address);
}

/** The error for an account that does not exist, with what to do. */
export function noAccount({ channels }: Pick<AccountTools, "channels">, address: ChannelAddress): PeerError {
  // Any other platform needs a bridge, which adds its account when it connects.
  const todo = ownValue(channels, address.channel)
    ? `${howToAdd(address)} connects one`
    : "`gsv channel list` shows all accounts";
  const message = `there is no account ${address.accountId} of ${address.channel}; ${todo}`;
  return new PeerError(code.notFound, message);
}

function howToAdd({ channel, accountId }: ChannelAddress): string {
  return `\`gsv channel add ${channel}${accountId === "default" ? "" : ` ${accountId}`}\``;
}

async function isBridged(accounts: AccountTools, address: ChannelAddress): Promise<boolean> {
  const settings = accountSettings(await accounts.configuration.load({ fresh: true }), address);
  if (isOwnAccount(ownValue(accounts.channels, address.channel), settings)) return false;
  return (await accounts.bridges.find(address)) !== undefined;
}

/**
 * The given fields without secret markers: a marker means that the stored secret is kept.
 * @throws PeerError 400
 */
function checkGiven(channel: Channel, given: Readonly<Record<string, unknown>>): Record<string, string> {
  const names = [...channel.fields.map(({ name }) => name), ...commonSettings];
  const checked: Record<string, string> = {};
  for (const [name, value] of Object.entries(given)) {
    if (!names.includes(name))
      throw new PeerError(
        code.badRequest,
        `config.${name}: unknown field; ${channel.name} accepts ${names.join(", ")}`,
      );
    if (typeof value !== "string" || value === "")
      throw new PeerError(code.badRequest, `config.${name}: expected a text`);
    if (value !== secretMarker) checked[name] = value;
  }
  return checked;
}

function withGiven(channel: Channel, account: ChannelAccount, given: Record<string, string>): ChannelAccount {
  const isSecret = (name: string) => channel.fields.some((field) => field.name === name && field.secret);
  const only = (secret: boolean) =>
    Object.fromEntries(Object.entries(given).filter(([name]) => isSecret(name) === secret));
  return {
    ...account,
    settings: { ...account.settings, ...only(false) },
    secrets: { ...account.secrets, ...only(true) },
  };
}
