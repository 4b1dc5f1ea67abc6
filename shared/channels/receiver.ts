import type { ConfigurationStore } from "../configuration/store.ts";
import { log } from "../runtime/log.ts";
import type { Origin, Sender } from "../session/inbox-entry.ts";
import type { Table } from "../world/world.ts";
import type { ChannelOrigin, ChannelSender, Delivered, OutboundFile, OutboundText } from "./channel.ts";
import { isStillOwner } from "./inbound/sender-role.ts";
import { findOwner } from "./last-active.ts";

/**
 * The receiver of a message that is sent now, by the newest configuration. An owner's place is found again, because the
 * owners may have changed since it was chosen.
 * @param sender the owner for whom the message is sent; undefined for a client or a guest
 * @returns why nobody on a channel may receive it, as a string
 */
export async function findReceiver(
  { table, configuration }: { table: Table; configuration: Pick<ConfigurationStore, "load"> },
  origin: Origin,
  sender: Sender | undefined,
): Promise<ChannelOrigin | string> {
  const newest = await configuration.load({ fresh: true });
  if (!isStillOwner(newest, sender)) return "the sender is no longer an owner";
  if (!origin.owner) {
    if (origin.kind === "client") return "it is for clients alone";
    return sender ? { ...origin, whileOwner: sender } : origin;
  }
  const { agentId, onChannel } = origin.owner;
  const found = await findOwner(table, newest, agentId, onChannel);
  if (!found) return "no owner has written to the agent in a direct message";
  const isOfSession = origin.kind === "channel" && origin.sessionKey !== undefined;
  return isOfSession ? { ...found, sessionKey: origin.sessionKey } : found;
}

/**
 * Delivers to the receiver of now, and logs why it did not reach them. An answer for an owner who still has no place is no
 * fault: the clients have it.
 * @param name what the log calls it
 */
export async function deliverToReceiver(
  agent: Parameters<typeof findReceiver>[0] & { channels: Pick<ChannelSender, "deliver"> },
  { origin, sender }: { origin: Origin; sender: Sender | undefined },
  id: string,
  text: OutboundText,
  name: { runId: string } | { deliveryId: string },
  file?: OutboundFile,
): Promise<Delivered> {
  const to = await findReceiver(agent, origin, sender);
  const isFound = typeof to !== "string";
  const delivered = isFound
    ? await agent.channels.deliver(to, id, text, file)
    : ({ ok: false, reason: to } as const);
  const at = isFound ? to : origin;
  if (!delivered.ok && at.kind === "channel")
    log("channel.undelivered", { ...name, channel: at.channel, reason: delivered.reason });
  return delivered;
}

/** Whether an answer is only for the clients. */
export function isForClients(origin: Origin): boolean {
  return origin.kind === "client" && !origin.owner;
}
