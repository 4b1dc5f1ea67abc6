import type { Configuration } from "../configuration/schema.ts";
import { keyRules } from "../session/key/routing.ts";
import { agentIdOf, isMainSessionKey } from "../session/key/session-key.ts";
import type { SessionState } from "../session/state.ts";
import type { Table } from "../world/world.ts";
import type { ChannelOrigin } from "./channel.ts";
import { findOwner } from "./last-active.ts";

/**
 * Where a conversation tells something that answers no message on a channel. A main session tells its owner, where that one
 * last wrote directly: who was an owner once, and wrote there last, must not be told. Any other conversation tells where it
 * was last held.
 * @returns undefined: on no channel
 */
export async function placeOf(
  table: Table,
  configuration: Configuration,
  { sessionKey, lastChannel }: Pick<SessionState, "sessionKey" | "lastChannel">,
): Promise<ChannelOrigin | undefined> {
  if (isMainSessionKey(sessionKey, keyRules(configuration)))
    return findOwner(table, configuration, agentIdOf(sessionKey));
  if (!lastChannel) return undefined;
  const { replyToId: _answered, ...place } = lastChannel;
  return place;
}
