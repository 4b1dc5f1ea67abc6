import type { AccountStatus } from "../protocol/channel-accounts.ts";
import { accountSettings, missingFields, readAccount } from "./account.ts";
import { type AccountTools, webhookUrlOf } from "./accounts.ts";
import { type AccountActivity, readActivity } from "./activity.ts";
import type { BridgeRecord } from "./bridge/bridge.ts";
import type { AccountCheck, Channel, ChannelAddress } from "./channel.ts";

/** The status of an account, partly from its platform. */
export async function statusOf(
  accounts: AccountTools,
  channel: Channel,
  accountId: string,
): Promise<AccountStatus> {
  const address = { channel: channel.name, accountId };
  const [configuration, activityOf] = await Promise.all([
    accounts.configuration.load({ fresh: true }),
    readActivity(accounts.table, accounts.now()),
  ]);
  const settings = accountSettings(configuration, address) ?? {};
  const account = await readAccount(channel, accountId, settings, accounts.secrets);
  const missing = missingFields(channel, account);
  const checked: AccountCheck =
    missing.length > 0
      ? { ok: false, reason: `no ${missing.join(", ")} configured` }
      : await channel.check(account);
  return accountStatus(accounts, address, {
    checked,
    activity: activityOf(address),
    stopped: settings.enabled === false,
  });
}

/** The status of a bridge's account. */
export async function bridgeStatusOf(accounts: AccountTools, bridge: BridgeRecord): Promise<AccountStatus> {
  const { channel, accountId, connectedAt } = bridge;
  const [configuration, activityOf, waiting] = await Promise.all([
    accounts.configuration.load({ fresh: true }),
    readActivity(accounts.table, accounts.now()),
    accounts.bridges.waiting(bridge),
  ]);
  const { lastMessageAt, lastError, lastErrorAt } = activityOf(bridge);
  const stopped = accountSettings(configuration, { channel, accountId })?.enabled === false;
  const isAttached = connectedAt !== undefined;
  return {
    accountId,
    connected: isAttached && !stopped,
    authenticated: isAttached,
    ...(isAttached ? {} : { error: "its bridge is not connected" }),
    ...(lastMessageAt === undefined ? {} : { lastActivity: lastMessageAt }),
    extra: { stopped, waiting, ...(lastError === undefined ? {} : { lastError, lastErrorAt }) },
  };
}

function accountStatus(
  accounts: AccountTools,
  address: ChannelAddress,
  { checked, activity, stopped }: { checked: AccountCheck; activity: AccountActivity; stopped: boolean },
): AccountStatus {
  const webhookUrl = webhookUrlOf(accounts, address);
  const { lastMessageAt, lastError, lastErrorAt } = activity;
  const known = checked.ok ? checked.webhook : undefined;
  const isKnown = known === undefined || known.url === webhookUrl;
  const error = errorOf(checked, isKnown, known?.url);
  return {
    accountId: address.accountId,
    connected: checked.ok && isKnown && !stopped,
    authenticated: checked.ok,
    ...(error === undefined ? {} : { error }),
    ...(lastMessageAt === undefined ? {} : { lastActivity: lastMessageAt }),
    extra: {
      stopped,
      ...(checked.ok ? { identity: checked.identity } : {}),
      webhookUrl,
      ...(known?.lastError === undefined ? {} : { webhookError: known.lastError }),
      ...(known?.lastErrorAt === undefined ? {} : { webhookErrorAt: known.lastErrorAt }),
      ...(lastError === undefined ? {} : { lastError, lastErrorAt }),
    },
  };
}

function errorOf(checked: AccountCheck, isKnown: boolean, url: string | undefined): string | undefined {
  if (!checked.ok) return checked.reason;
  if (isKnown) return undefined;
  return url === ""
    ? "no webhook is registered at the platform; start the account"
    : `the platform calls another webhook: ${url}`;
}
