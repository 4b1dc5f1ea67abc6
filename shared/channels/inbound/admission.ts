import type { ChannelConfiguration, Configuration } from "../../configuration/schema.ts";
import type { ConfigurationStore } from "../../configuration/store.ts";
import { isSameSender, normalizeSenderId } from "../../session/key/identity.ts";
import type { Table } from "../../world/world.ts";
import { ownValue } from "../account.ts";
import type { ChannelAddress, InboundMessage } from "../channel.ts";
import { closeRequest, openRequest } from "./pairing.ts";

/** Whether a message may reach the agent, and if not, why: `pairing` is a sender who may ask to be let in. */
export type Access = { allowed: true } | { allowed: false; reason: "closed" | "allowlist" | "pairing" };

/** Why a message is not for the agent. `full`: too many wait to be let in already. */
export type Refusal =
  | Exclude<Extract<Access, { allowed: false }>["reason"], "pairing">
  | "not mentioned"
  | "full";

/** Whether a message may go on to its session. */
export type Admission =
  | { status: "admitted"; configuration: Configuration }
  | { status: "blocked"; reason: Refusal }
  /**
   * It waits as a request to be let in; `isHeld` says whether the message waits with it, or only its sender.
   */
  | { status: "requested"; isHeld: boolean }
  /** Its sender asked before, by another message. This one is dropped. */
  | { status: "waiting" };

export interface Admitting {
  table: Table;
  configuration: Pick<ConfigurationStore, "load">;
  now: () => number;
}

/**
 * Decides whether a message is for the agent; where pairing is on, a sender who is not known yet becomes a
 * request. Nothing else is stored, and nobody is told here. A repeat of the event is decided the same.
 */
export async function admit(
  admitting: Admitting,
  address: ChannelAddress,
  message: InboundMessage,
): Promise<Admission> {
  const { table, configuration, now } = admitting;
  const decide = async (fresh: boolean) => {
    const loaded = await configuration.load({ fresh });
    return { loaded, reason: findReason(loaded, address, message) };
  };
  let { loaded, reason } = await decide(false);
  // They may have been let in a moment ago.
  if (reason !== undefined && reason !== "not mentioned") ({ loaded, reason } = await decide(true));
  if (reason === "pairing") {
    const asked = await openRequest(table, address, message, now());
    if (asked.state === "waiting") return { status: "waiting" };
    if (asked.state === "full") return { status: "blocked", reason: "full" };
    // Once more: an approval that looked for requests before this one was there leaves it to be found here.
    ({ loaded, reason } = await decide(true));
    if (reason === "pairing") return { status: "requested", isHeld: asked.request.message !== undefined };
    await closeRequest(table, asked.request, now());
  }
  return reason === undefined ? { status: "admitted", configuration: loaded } : { status: "blocked", reason };
}

function findReason(
  { channels }: Configuration,
  { channel }: ChannelAddress,
  message: InboundMessage,
): Exclude<Refusal, "full"> | "pairing" | undefined {
  const settings = ownValue(channels, channel);
  const isMeant = message.peer.kind === "dm" || message.wasMentioned || settings?.requireMention === false;
  if (!isMeant) return "not mentioned";
  const access = checkAccess(settings, message);
  return access.allowed ? undefined : access.reason;
}

/**
 * Who may write (docs/channels.md, "Who may write"): by `dmPolicy` and `allowFrom`, by ids alone. A channel
 * without a policy is closed. In rooms the same holds for whoever writes, or else anybody could bring the
 * agent into a room and talk to it there; a room's own id in `allowFrom` lets in everybody who is in it. Only
 * a direct message can lead to pairing.
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
