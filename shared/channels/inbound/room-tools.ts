import type { ChannelConfiguration } from "../../configuration/schema.ts";
import { isSameSender } from "../../session/key/identity.ts";
import { roomIds } from "./admission.ts";

/**
 * Whose runs may use the tools of nodes in a room, from `channels.{channel}.groups.{id}.tools`. A thread
 * without its own setting inherits its room's. Undefined: nobody's.
 */
export function roomTools(
  channel: string,
  settings: ChannelConfiguration | undefined,
  peerId: string,
): "owner" | "all" | undefined {
  const rooms = Object.entries(settings?.groups ?? {});
  for (const id of roomIds(peerId)) {
    const found = rooms.find(([entry]) => isSameSender(channel, entry, id));
    if (found) return found[1].tools;
  }
  return undefined;
}
