import type { ChannelConfiguration, Configuration } from "../../configuration/schema.ts";
import type { Role } from "../../protocol/channel-accounts.ts";
import type { Sender } from "../../session/inbox-entry.ts";
import { isSameSender } from "../../session/key/identity.ts";
import { ownValue } from "../account.ts";

/**
 * What a sender on a channel is to the agent: an owner when the channel's `owners` has the sender's id, else
 * a guest. Only the id of the sender counts: no name, no room, and no entry that means everybody.
 */
export function senderRole(
  channel: string,
  settings: ChannelConfiguration | undefined,
  senderId: string,
): Role {
  const isOwner = (owner: string) => owner.trim() !== "*" && isSameSender(channel, owner, senderId);
  return settings?.owners?.some(isOwner) ? "owner" : "guest";
}

/** Whether who has caused something earlier is an owner now; true for what a client has caused. */
export function isStillOwner(
  { channels }: Pick<Configuration, "channels">,
  sender: Sender | undefined,
): boolean {
  if (!sender) return true;
  return senderRole(sender.channel, ownValue(channels, sender.channel), sender.senderId) === "owner";
}
