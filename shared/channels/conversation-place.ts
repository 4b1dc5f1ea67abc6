import type { Configuration } from "../configuration/schema.ts";
import { keyRules } from "../session/key/routing.ts";
import { agentIdOf, isMainSessionKey } from "../session/key/session-key.ts";
import type { SessionState } from "../session/state.ts";
import type { Table } from "../world/world.ts";
import type { ChannelOrigin } from "./channel.ts";
import { findOwner } from "./last-active.ts";

/**
 * The destination of a message on a channel that is not an answer. For a main session: the direct conversation where a current
 * owner last wrote, because a former owner must not receive it. For any other conversation: the channel of its last message.
 * @returns undefined for no channel
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
