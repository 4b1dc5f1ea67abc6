import type { AccountTools } from "../../shared/channels/accounts.ts";
import type { Bridges } from "../../shared/channels/bridge/bridge.ts";
import type { ChannelSender } from "../../shared/channels/channel.ts";
import type { Broadcast } from "../../shared/peers/broadcast.ts";
import type { Payloads } from "../../shared/peers/payloads.ts";
import type { ConnectionRecord, Mode } from "../../shared/peers/registry.ts";
import type { TokenVerifier } from "../../shared/peers/tokens.ts";
import type { Method, Params, Scope } from "../../shared/protocol/methods.ts";
import type { Results } from "../../shared/protocol/results.ts";
import type { Workspace } from "../../shared/workspace/files.ts";
import type { Bucket, Schedules, Sockets, WakeAgent } from "../../shared/world/world.ts";

/** What the socket function works with, built once at cold start. */
export interface Gateway extends AccountTools {
  bucket: Bucket;
  sockets: Sockets;
  payloads: Payloads;
  schedules: Schedules;
  wake: WakeAgent;
  broadcast: Broadcast;
  sender: ChannelSender;
  bridges: Bridges;
  workspace: Workspace;
  tokens: TokenVerifier;
  /** Sockets that have connected, kept while the function is warm: their records do not change any more. */
  connected: Map<string, Caller>;
}

/** A peer that has connected. */
export type Caller = ConnectionRecord & { mode: Mode; peerId: string; tokenId: string; scopes: Scope[] };

/** A handler returns this when the request is answered later, by a node or by the agent. */
export const deferred = Symbol("deferred");

/**
 * One method: the peers that may call it, and its handler, which translates between the wire and `shared`.
 */
export interface MethodEntry<M extends Method> {
  modes: readonly Mode[];
  /** A scope that the token needs besides the mode's own. */
  scope?: Scope;
  handle(
    gateway: Gateway,
    params: Params<M>,
    request: { id: string; caller: Caller },
  ): Promise<Results[M] | typeof deferred>;
}

/** Every method but `connect`, which comes before a peer is known: see connect.ts. */
export type HandledMethod = Exclude<Method, "connect">;

export type MethodTable = { [M in HandledMethod]: MethodEntry<M> };
