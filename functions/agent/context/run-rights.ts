import { ownValue } from "../../../shared/channels/account.ts";
import type { ChannelOrigin } from "../../../shared/channels/channel.ts";
import { roomTools } from "../../../shared/channels/inbound/room-tools.ts";
import type { Configuration } from "../../../shared/configuration/schema.ts";
import type { Role } from "../../../shared/protocol/channel-accounts.ts";
import { keyRules } from "../../../shared/session/key/routing.ts";
import {
  agentIdOf,
  clientKinds,
  isGuestSessionKey,
  parseSessionKey,
  sessionKind,
} from "../../../shared/session/key/session-key.ts";
import type { Run } from "../../../shared/session/run.ts";
import type { SessionState } from "../../../shared/session/state.ts";
import { type Audience, audienceOf } from "../../../shared/workspace/privacy.ts";
import type { NativeTool } from "../tools/native/native-tool.ts";
import { nativeTools } from "../tools/native/native-tools.ts";

/** What a run may see and use (docs/security.md, "Who may do what"). */
export interface RunRights {
  role: Role;
  audience: Audience;
  /** The native tools that it may use, by name. */
  native: ReadonlyMap<string, NativeTool>;
  /** Whether it may use the tools of nodes. */
  nodes: boolean;
}

/** The rights of a run, from the writer of its message and the conversation that it answers in. */
export function rightsOf(
  configuration: Configuration,
  { sessionKey, lastChannel }: Pick<SessionState, "sessionKey" | "lastChannel">,
  { role = "owner", origin }: Pick<Run, "role" | "origin">,
): RunRights {
  const kind = sessionKind(sessionKey, keyRules(configuration));
  const ofSession = audienceOf(kind);
  const audience = role === "guest" ? "shared" : ofSession;
  const isOwnSession = role === "owner" && clientKinds.includes(kind);
  const agentId = agentIdOf(sessionKey);
  const native = nativeTools.filter(
    (tool) =>
      (role === "owner" || tool.forGuests) &&
      (isOwnSession || !tool.ownSessionsOnly) &&
      tool.isOffered?.(configuration, agentId) !== false,
  );
  const room = origin.kind === "channel" ? origin : lastChannel;
  return {
    role,
    audience,
    native: new Map(native.map((tool) => [tool.definition.name, tool])),
    nodes: ofSession === "shared" ? mayInRoom(configuration, sessionKey, role, room) : role === "owner",
  };
}

/** Whether a run in a conversation that others read may use the tools of nodes: they see what comes back. */
function mayInRoom(
  configuration: Configuration,
  sessionKey: string,
  role: Role,
  room: ChannelOrigin | undefined,
): boolean {
  if (isGuestSessionKey(sessionKey)) return false;
  if (room) {
    const settings = ownValue(configuration.channels, room.channel);
    const allowed = roomTools(room.channel, settings, room.peer.id);
    return allowed === "all" || (allowed === "owner" && role === "owner");
  }
  // No channel has spoken here: it is a client's own conversation, unless its key is a room's.
  const { channel } = parseSessionKey(sessionKey) ?? {};
  return (
    role === "owner" && (channel === undefined || ownValue(configuration.channels, channel) === undefined)
  );
}
