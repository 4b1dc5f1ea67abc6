import type { AccountTools } from "../../shared/channels/accounts.ts";
import type { Bridges } from "../../shared/channels/bridge/bridge.ts";
import type { ChannelSender } from "../../shared/channels/channel.ts";
import type { ManagedServers } from "../../shared/mcp/manage-servers.ts";
import type { Memories } from "../../shared/memory/memories.ts";
import type { Broadcast } from "../../shared/peers/broadcast.ts";
import type { Payloads } from "../../shared/peers/payloads.ts";
import { type ConnectionRecord, forgetPeer, type Mode } from "../../shared/peers/registry.ts";
import type { TokenVerifier } from "../../shared/peers/tokens.ts";
import { code } from "../../shared/protocol/errors.ts";
import {
  errorFrame,
  maxFrameBytes,
  maxPayloadBytes,
  type ResponseFrame,
} from "../../shared/protocol/frames.ts";
import type { Method, Params, Scope } from "../../shared/protocol/methods.ts";
import type { Results } from "../../shared/protocol/results.ts";
import type { Recall } from "../../shared/recall/recall.ts";
import { log } from "../../shared/runtime/log.ts";
import type { SkillLister } from "../../shared/skills/skill-lister.ts";
import type { Workspace } from "../../shared/workspace/workspace-files.ts";
import type { Bucket, Presigner, Schedules, Sockets, WakeAgent, World } from "../../shared/world/world.ts";

/** The dependencies of the socket function, built once at cold start. */
export interface Gateway extends AccountTools {
  bucket: Bucket;
  sockets: Sockets;
  payloads: Payloads;
  presigner: Presigner;
  schedules: Schedules;
  wake: WakeAgent;
  broadcast: Broadcast;
  sender: ChannelSender;
  bridges: Bridges;
  workspace: Workspace;
  recall: () => Promise<Recall>;
  memories: () => Promise<Memories>;
  skills: SkillLister;
  tokens: TokenVerifier;
  /** Cache of connected sockets, by connection id. Their records no longer change. */
  connected: Map<string, Caller>;
  /** The slot of anonymous sockets for which this function last scheduled the timer. */
  closing: { slot?: number };
  pause: World["pause"];
  servers: ManagedServers;
  /** Whether sockets without an Authorization header are refused. */
  requiresHeader: boolean;
  /** Origins of the gateway's own web page. */
  pageOrigins: readonly string[];
  mcpUrl: string | undefined;
}

/** A peer that has connected. */
export type Caller = ConnectionRecord & { mode: Mode; peerId: string; tokenId: string; scopes: Scope[] };

/** Returned by a handler when a node or the agent answers the request later. */
export const deferred = Symbol("deferred");

/** A method's access rules and its handler. */
export interface MethodEntry<M extends Method> {
  modes: readonly Mode[];
  /** A scope that the token needs in addition to the mode's scope. */
  scope?: Scope;
  /** A device's token may call it, too, if it has the scope `approve`: no device has `admin`. */
  forDevices?: true;
  handle(
    gateway: Gateway,
    params: Params<M>,
    request: { id: string; caller: Caller },
  ): Promise<Results[M] | typeof deferred>;
}

/** Every method except `connect`, which connect.ts handles. */
export type HandledMethod = Exclude<Method, "connect">;

export type MethodTable = { [M in HandledMethod]: MethodEntry<M> };

/**
 * Posts a response. A 413 error replaces a response that is too large for the peer. If the connection is gone, its peer
 * record is removed.
 * @throws Error when the peer does not read its messages; a stored answer is then kept
 */
export async function respond(
  gateway: Pick<Gateway, "now" | "sockets" | "table">,
  connectionId: string,
  frame: ResponseFrame,
): Promise<void> {
  let outcome = await gateway.sockets.post(connectionId, frame);
  if (outcome === "too large") {
    const message = `the response is too large: the limit is ${maxFrameBytes} bytes, or ${maxPayloadBytes} for a peer that accepts payloads by reference; ask for less at a time`;
    outcome = await gateway.sockets.post(
      connectionId,
      errorFrame(frame.id, { code: code.tooLarge, message }),
    );
  }
  if (outcome === "busy")
    throw new Error(`the peer of connection ${connectionId} does not read its messages`);
  if (outcome === "gone") {
    log("socket.gone", { connectionId });
    await forgetPeer(gateway.table, connectionId, gateway.now());
  }
}
