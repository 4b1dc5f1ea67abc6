import type { Secrets } from "../aws/secrets.ts";
import type { ConfigurationStore } from "../configuration/store.ts";
import { findAccount, ownValue } from "./account.ts";
import type { Channel, ChannelAccount, ChannelAddress, Channels } from "./channel.ts";

/** What finding an account of a channel takes. */
export interface Accounts {
  channels: Channels;
  configuration: Pick<ConfigurationStore, "load">;
  secrets: Pick<Secrets, "get">;
}

/** A channel with the account by which it is spoken to. */
export interface Target {
  channel: Channel;
  account: ChannelAccount;
}

/** The target of an address; not ok, with the reason, where nothing is configured that could be used. */
export async function findTarget(
  { channels, configuration, secrets }: Accounts,
  { channel: name, accountId }: ChannelAddress,
): Promise<({ ok: true } & Target) | { ok: false; reason: string }> {
  const channel = ownValue(channels, name);
  if (!channel) return { ok: false, reason: `there is no channel ${name}` };
  const found = await findAccount(channel, accountId, { configuration, secrets });
  if (!found.ok) return { ok: false, reason: `${name}/${accountId}: ${found.reason}` };
  return { ok: true, channel, account: found.account };
}
