import type { Configuration } from "../../configuration/schema.ts";
import type { ConfigurationStore } from "../../configuration/store.ts";
import type { Table } from "../../world/world.ts";
import { ownValue } from "../account.ts";
import type { ChannelAddress, InboundMessage } from "../channel.ts";
import { type Access, checkAccess } from "./access.ts";
import { closeRequest, openRequest } from "./pairing.ts";

/** Why a message is not for the agent. `full`: too many wait to be let in already. */
export type Refusal =
  | Exclude<Extract<Access, { allowed: false }>["reason"], "pairing">
  | "not mentioned"
  | "full";

/** Whether a message may go on to its session. */
export type Admission =
  | { status: "admitted"; configuration: Configuration }
  | { status: "blocked"; reason: Refusal }
  /** It waits as a request to be let in; `isHeld` says whether the message waits with it, or only its sender. */
  | { status: "requested"; isHeld: boolean }
  /** Its sender asked before, by another message. This one is dropped. */
  | { status: "waiting" };

export interface Admitting {
  table: Table;
  configuration: Pick<ConfigurationStore, "load">;
  now: () => number;
}

/**
 * Decides whether a message is for the agent; where pairing is on, a sender who is not known yet becomes a request.
 * Nothing else is stored, and nobody is told here. A repeat of the event is decided the same.
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
