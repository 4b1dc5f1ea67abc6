import { type AccountSource, accountSettings, findAccount, isOwnAccount, ownValue } from "../account.ts";
import type { Bridges } from "../bridge/bridge.ts";
import type { Buttons, ChannelAccount, ChannelAddress, Channels, OutboundChannel } from "../channel.ts";

/** The dependencies of finding an account. */
export interface Accounts extends AccountSource {
  channels: Channels;
  /** Sends to bridges, for accounts that are not the gateway's own. */
  bridges?: Pick<Bridges, "find">;
}

/** A channel and the account to send with. */
export interface Target {
  channel: OutboundChannel;
  account: ChannelAccount;
}

/**
 * Finds the target of an address. Not ok, with the reason, when no account is configured and no bridge is
 * known.
 */
export async function findTarget(
  { channels, configuration, secrets, bridges }: Accounts,
  address: ChannelAddress,
): Promise<({ ok: true } & Target) | { ok: false; reason: string }> {
  const { channel: name, accountId } = address;
  const refused = (reason: string) => ({ ok: false, reason: `${name}/${accountId}: ${reason}` }) as const;
  const channel = ownValue(channels, name);
  const loaded = await configuration.load();
  const settings = accountSettings(loaded, address);
  const bridge = isOwnAccount(channel, settings) ? undefined : await bridges?.find(address);
  if (bridge) {
    if (settings?.enabled === false) return refused("stopped");
    const isTrusted = ownValue(loaded.channels, name)?.trustApprovals === true;
    const answering = isTrusted ? { ...bridge, buttons: inWords(bridge, channel?.buttons?.fence) } : bridge;
    return { ok: true, channel: answering, account: { accountId, settings: settings ?? {}, secrets: {} } };
  }
  if (!channel) return { ok: false, reason: `unknown channel ${name}` };
  const found = await findAccount(channel, accountId, { configuration, secrets });
  return found.ok ? { ok: true, channel, account: found.account } : refused(found.reason);
}

/** Questions of a bridge: their text says which words answer them. They are found by the delivery's id. `fence`: its platform's. */
function inWords({ maxText, send }: OutboundChannel, fence: string | undefined): Buttons {
  const ask: Buttons["ask"] = async (account, message) => {
    const sent = await send(account, message);
    return sent.status === "sent" ? { ...sent, messageId: message.id } : sent;
  };
  return { maxText, maxChoices: 2, inWords: true, ask, ...(fence ? { fence } : {}) };
}
