import type { ConfigurationStore } from "../configuration/store.ts";
import type { Sender } from "../session/inbox-entry.ts";
import type { Table } from "../world/world.ts";
import type { ChannelOrigin } from "./channel.ts";
import { isStillOwner } from "./inbound/sender-role.ts";
import { findOwner } from "./last-active.ts";

/**
 * The receiver of a message that is sent now, by the newest configuration. An owner's place is found again, because the
 * owners may have changed since it was chosen.
 * @param sender the owner for whom the message is sent; undefined for a client or a guest
 * @returns why nobody may receive it, as a string
 */
export async function findReceiver(
  { table, configuration }: { table: Table; configuration: Pick<ConfigurationStore, "load"> },
  origin: ChannelOrigin,
  sender: Sender | undefined,
): Promise<ChannelOrigin | string> {
  const newest = await configuration.load({ fresh: true });
  if (!isStillOwner(newest, sender)) return "the sender is no longer an owner";
  if (!origin.owner) return origin;
  const { agentId, onChannel } = origin.owner;
  const found = await findOwner(table, newest, agentId, onChannel);
  if (!found) return "no owner has written to the agent in a direct message";
  return origin.sessionKey === undefined ? found : { ...found, sessionKey: origin.sessionKey };
}
