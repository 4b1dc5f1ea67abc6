import type { ChannelConfiguration, Configuration } from "../../configuration/schema.ts";
import type { Role } from "../../protocol/channel-accounts.ts";
import type { Sender } from "../../session/inbox-entry.ts";
import { isSameSender } from "../../session/key/identity.ts";
import { ownValue } from "../account.ts";

/**
 * A sender's role: owner if the channel's `owners` has the sender's id, else guest. Names, rooms and the entry `*` do not
 * count.
 */
export function senderRole(
  channel: string,
  settings: ChannelConfiguration | undefined,
  senderId: string,
): Role {
  const isOwner = (owner: string) => owner.trim() !== "*" && isSameSender(channel, owner, senderId);
  return settings?.owners?.some(isOwner) ? "owner" : "guest";
}

/** Whether the sender of an earlier request is still an owner; true for requests of clients, which have no sender. */
export function isStillOwner(
  { channels }: Pick<Configuration, "channels">,
  sender: Sender | undefined,
): boolean {
  if (!sender) return true;
  return senderRole(sender.channel, ownValue(channels, sender.channel), sender.senderId) === "owner";
}
