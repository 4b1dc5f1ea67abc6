import { type AccountSource, accountSettings, findAccount, isOwnAccount, ownValue } from "../account.ts";
import type { Bridges } from "../bridge/bridge.ts";
import type { ChannelAccount, ChannelAddress, Channels, OutboundChannel } from "../channel.ts";

/** What finding an account of a channel takes. */
export interface Accounts extends AccountSource {
  channels: Channels;
  /** Speaks to accounts that are not the gateway's own. */
  bridges?: Pick<Bridges, "find">;
}

/** A channel with the account by which it is spoken to. */
export interface Target {
  channel: OutboundChannel;
  account: ChannelAccount;
}

/**
 * The target of an address; not ok, with the reason, where nothing is configured or attached that could be
 * used.
 */
export async function findTarget(
  { channels, configuration, secrets, bridges }: Accounts,
  address: ChannelAddress,
): Promise<({ ok: true } & Target) | { ok: false; reason: string }> {
  const { channel: name, accountId } = address;
  const refused = (reason: string) => ({ ok: false, reason: `${name}/${accountId}: ${reason}` }) as const;
  const channel = ownValue(channels, name);
  const settings = accountSettings(await configuration.load(), address);
  const bridge = isOwnAccount(channel, settings) ? undefined : await bridges?.find(address);
  if (bridge) {
    if (settings?.enabled === false) return refused("stopped");
    return { ok: true, channel: bridge, account: { accountId, settings: settings ?? {}, secrets: {} } };
  }
  if (!channel) return { ok: false, reason: `there is no channel ${name}` };
  const found = await findAccount(channel, accountId, { configuration, secrets });
  return found.ok ? { ok: true, channel, account: found.account } : refused(found.reason);
}
