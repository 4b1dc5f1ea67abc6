import type { ChannelConfiguration } from "../../configuration/schema.ts";
import type { Role } from "../../protocol/channel-accounts.ts";
import { isSameSender } from "../../session/key/identity.ts";

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
