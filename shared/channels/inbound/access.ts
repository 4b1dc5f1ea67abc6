import type { ChannelConfiguration } from "../../configuration/schema.ts";
import { isSameSender, normalizeSenderId } from "../../session/key/identity.ts";
import type { InboundMessage } from "../channel.ts";

/** Whether a message may reach the agent, and if not, why: `pairing` is a sender who may ask to be let in. */
export type Access = { allowed: true } | { allowed: false; reason: "closed" | "allowlist" | "pairing" };

/**
 * Who may write (protocol: "Messages from channels"): by `dmPolicy` and `allowFrom`, by ids alone. A channel without a
 * policy is closed. In rooms the same holds for whoever writes, or else anybody could bring the agent into a room and
 * talk to it there; a room's own id in `allowFrom` lets in everybody who is in it. Only a direct message can lead to
 * pairing.
 */
export function checkAccess(
  configuration: ChannelConfiguration | undefined,
  { peer, sender }: Pick<InboundMessage, "peer" | "sender">,
): Access {
  const { dmPolicy, allowFrom = [] } = configuration ?? {};
  if (!dmPolicy) return { allowed: false, reason: "closed" };
  if (dmPolicy === "open") return { allowed: true };
  const ids = peer.kind === "dm" ? [sender.id] : [sender.id, ...roomIds(peer.id)];
  const isListed = allowFrom.some(
    (entry) => entry.trim() === "*" || ids.some((id) => isSameSender(entry, id)),
  );
  if (isListed) return { allowed: true };
  // An id that `allowFrom` would read as everybody, or nobody, cannot be let in.
  const canPair =
    dmPolicy === "pairing" && peer.kind === "dm" && !["", "*"].includes(normalizeSenderId(sender.id));
  return { allowed: false, reason: canPair ? "pairing" : "allowlist" };
}

/** A thread is in its room, `{room}/{thread}`. */
function roomIds(peerId: string): string[] {
  const slash = peerId.lastIndexOf("/");
  return slash < 0 ? [peerId] : [peerId, peerId.slice(0, slash)];
}
