import type { ChannelConfiguration, Configuration } from "../../configuration/schema.ts";
import type { ConfigurationStore } from "../../configuration/store.ts";
import { isSameSender } from "../../session/key/identity.ts";
import type { Table } from "../../world/world.ts";
import { accountSettings, ownValue } from "../account.ts";
import type { ChannelAddress, InboundMessage } from "../channel.ts";
import { closeRequest, openRequest } from "./pairing.ts";
import { senderRole } from "./sender-role.ts";

/**
 * Whether a message may reach the agent, or the reason why not. `pairing`: the sender may request pairing.
 */
export type Access = { allowed: true } | { allowed: false; reason: "closed" | "allowlist" | "pairing" };

/**
 * The reason why a message is blocked. `full`: the account has too many pairing requests. `empty`: the message has
 * neither text nor files.
 */
export type Refusal =
  | Exclude<Extract<Access, { allowed: false }>["reason"], "pairing">
  | "stopped"
  | "not mentioned"
  | "full"
  | "empty";

/** The admission decision about a message. */
export type Admission =
  | { status: "admitted" }
  | { status: "blocked"; reason: Refusal }
  /** A pairing request exists; `isHeld`: it contains the message. */
  | { status: "requested"; isHeld: boolean }
  /** The sender already has a request from another message. This message is dropped. */
  | { status: "waiting" };

export interface Admitting {
  table: Table;
  configuration: Pick<ConfigurationStore, "load">;
  now: () => number;
}

/**
 * Decides whether a message may reach the agent. With pairing, an unknown sender gets a pairing request.
 * Stores nothing else and sends nothing. A redelivery of the event has the same decision.
 */
export async function admit(
  admitting: Admitting,
  address: ChannelAddress,
  message: InboundMessage,
): Promise<Admission> {
  const { table, configuration, now } = admitting;
  const decide = async (fresh: boolean) => {
    return refusalReason(await configuration.load({ fresh }), address, message);
  };
  let reason = await decide(false);
  // The sender may just have been approved: read the newest configuration.
  if (reason !== undefined && reason !== "not mentioned") reason = await decide(true);
  // An edit asks for no access.
  if (reason === "pairing" && message.editedAt !== undefined)
    return { status: "blocked", reason: "allowlist" };
  if (reason === "pairing") {
    const asked = await openRequest(table, address, message, now());
    if (asked.state === "waiting") return { status: "waiting" };
    if (asked.state === "full") return { status: "blocked", reason: "full" };
    // Check again: a concurrent approval may have listed the requests before this one was stored.
    reason = await decide(true);
    if (reason === "pairing") return { status: "requested", isHeld: asked.request.message !== undefined };
    await closeRequest(table, asked.request, now());
  }
  return reason === undefined ? { status: "admitted" } : { status: "blocked", reason };
}

/** Why a configuration does not admit a message; undefined when it does. */
export function refusalReason(
  configuration: Configuration,
  address: ChannelAddress,
  message: InboundMessage,
): Exclude<Refusal, "full" | "empty"> | "pairing" | undefined {
  if (accountSettings(configuration, address)?.enabled === false) return "stopped";
  const { channel } = address;
  const settings = ownValue(configuration.channels, channel);
  const isMeant = message.peer.kind === "dm" || message.wasMentioned || settings?.requireMention === false;
  if (!isMeant) return "not mentioned";
  const access = checkAccess(channel, settings, message);
  return access.allowed ? undefined : access.reason;
}

/**
 * Decides by `dmPolicy`, `allowFrom` and `owners` who may write (docs/channels.md, "Who may write"). Only ids
 * count, never names. A channel without a policy is closed. In rooms the sender must be allowed too, so that a
 * stranger cannot use the agent by adding it to a room. A room's id in `allowFrom` allows everybody in the
 * room. Only a direct message can lead to pairing.
 */
export function checkAccess(
  channel: string,
  configuration: ChannelConfiguration | undefined,
  { peer, sender }: Pick<InboundMessage, "peer" | "sender">,
): Access {
  const { dmPolicy, allowFrom = [] } = configuration ?? {};
  if (!dmPolicy) return { allowed: false, reason: "closed" };
  if (dmPolicy === "open" || senderRole(channel, configuration, sender.id) === "owner")
    return { allowed: true };
  const ids = peer.kind === "dm" ? [sender.id] : [sender.id, ...roomIds(peer.id)];
  const isListed = allowFrom.some(
    (entry) => entry.trim() === "*" || ids.some((id) => isSameSender(channel, entry, id)),
  );
  if (isListed) return { allowed: true };
  // An id that would match everybody, nobody or somebody else in `allowFrom` cannot be approved.
  const isListable = sender.id.trim() !== "*" && isSameSender(channel, sender.id, sender.id);
  const canPair = dmPolicy === "pairing" && peer.kind === "dm" && isListable;
  return { allowed: false, reason: canPair ? "pairing" : "allowlist" };
}

/** The ids of a room. For a thread, whose id is `{room}/{thread}`: its own id, then the room's. */
export function roomIds(peerId: string): string[] {
  const slash = peerId.lastIndexOf("/");
  return slash < 0 ? [peerId] : [peerId, peerId.slice(0, slash)];
}
