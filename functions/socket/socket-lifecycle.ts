import { createHash } from "node:crypto";
import {
  type AnonymousSocket,
  dropAnonymous,
  openAnonymous,
  slotMs,
  slotOf,
} from "../../shared/peers/anonymous-sockets.ts";
import { cancelCalls } from "../../shared/peers/cancel-calls.ts";
import { dropConnection, listPeers, openConnection, readPeer } from "../../shared/peers/registry.ts";
import type { Events } from "../../shared/protocol/events.ts";
import { cancelCapability, eventFrame } from "../../shared/protocol/frames.ts";
import { log, logError } from "../../shared/runtime/log.ts";
import { callsOfClient, failDeferred } from "./calls/deferred.ts";
import type { Gateway } from "./gateway.ts";

/** Time within which a socket must connect, in milliseconds. It is closed otherwise. */
export const authTimeoutMs = 10_000;

/** Time after which the timer repeats the close of `endRevoked`, in milliseconds. */
const closeAgainMs = 5000;

/**
 * Handles the route `$connect`. Checks the token in the Authorization header. A socket without the header has
 * `authTimeoutMs` to send a token in `connect`, unless the stage requires the header. A web page, which is recognized by its
 * origin, may connect only if it is the gateway's own or `allowedOrigins` contains its origin.
 * @param socket `openedAt` in epoch ms, by API Gateway's clock
 * @returns the HTTP status of the upgrade: 200, 401 or 403
 */
export async function openSocket(
  gateway: Gateway,
  { connectionId, openedAt }: AnonymousSocket,
  { token, origin }: { token?: string | undefined; origin?: string | undefined },
): Promise<number> {
  if (origin !== undefined && !(await isAllowedOrigin(gateway, origin.toLowerCase())))
    return refuseSocket(connectionId, 403);
  if (token === undefined) return openWithoutToken(gateway, { connectionId, openedAt });
  const holder = await gateway.tokens.verify(token);
  if (!holder) return refuseSocket(connectionId);
  const { id: tokenId, name: _name, ...rights } = holder;
  await openConnection(gateway.table, { connectionId, openedAt, tokenId, ...rights });
  return 200;
}

async function isAllowedOrigin({ pageOrigins, configuration }: Gateway, origin: string): Promise<boolean> {
  return pageOrigins.includes(origin) || (await configuration.load()).allowedOrigins.includes(origin);
}

async function openWithoutToken(gateway: Gateway, socket: AnonymousSocket): Promise<number> {
  if (gateway.requiresHeader) return refuseSocket(socket.connectionId);
  await Promise.all([openAnonymous(gateway.table, socket), scheduleClose(gateway, socket.openedAt)]);
  return 200;
}

function refuseSocket(connectionId: string, status = 401): number {
  log("socket.refused", { connectionId, status });
  return status;
}

/**
 * Schedules the timer that closes the sockets of a slot that have not connected by then. A warm function schedules each
 * slot once; an existing schedule stays unchanged.
 */
async function scheduleClose({ schedules, closing }: Gateway, openedAt: number): Promise<void> {
  const slot = slotOf(openedAt);
  if (closing.slot === slot) return;
  const at = (slot + 1) * slotMs + authTimeoutMs;
  await schedules.once(`auth-slot-${slot}`, at, { kind: "auth-timeout", slot });
  closing.slot = slot;
}

/**
 * Handles the route `$disconnect`: removes the connection and its peer. For a node, fails the requests that wait for it. For
 * a client, cancels the calls that it waits for.
 * @param openedAt epoch ms, by API Gateway's clock; not needed for a socket that has sent a token
 * @param isEnded the gateway ends the connection: the tools of a node are not offered any more
 * @returns the node's id; undefined for other peers
 */
export async function closeSocket(
  gateway: Gateway,
  connectionId: string,
  openedAt?: number,
  isEnded = false,
): Promise<string | undefined> {
  const wasConnected = gateway.connected.delete(connectionId);
  const isAnonymous = !wasConnected && openedAt !== undefined;
  if (isAnonymous && (await dropAnonymous(gateway.table, { connectionId, openedAt }))) return undefined;
  const peer = await dropConnection(gateway.table, connectionId, isEnded ? undefined : gateway.now());
  if (peer?.mode === "client") await cancelCallsOf(gateway, connectionId);
  if (peer?.mode !== "node") return undefined;
  await failDeferred(gateway, peer.id, (ended) => ended === connectionId);
  const back = await readPeer(gateway.table, "node", peer.id, gateway.now());
  if (!back) await tellNodeChange(gateway, { nodeId: peer.id, connected: false, tools: [] });
  return peer.id;
}

/** Cancels the calls that a client has sent to nodes: it no longer waits for them. */
async function cancelCallsOf(gateway: Gateway, connectionId: string): Promise<void> {
  const nodes = await listPeers(gateway.table, "node", gateway.now());
  const able = nodes.filter(({ capabilities }) => capabilities?.includes(cancelCapability));
  const calls = await callsOfClient(
    gateway,
    able.map(({ id }) => id),
    connectionId,
  );
  await cancelCalls(gateway, async () => able, calls);
}

/** Announces to all clients that a node has connected or disconnected. A failure is only logged. */
export async function tellNodeChange(
  { broadcast }: Pick<Gateway, "broadcast">,
  change: Events["node.changed"],
): Promise<void> {
  try {
    await broadcast.send(await broadcast.clients(), "node.changed", change);
  } catch (error) {
    logError("node.untold", error, { nodeId: change.nodeId });
  }
}

/** Sends a peer the event that it must not connect again. If the event is lost, the next `connect` is refused. */
export async function tellEnd(
  { sockets }: Pick<Gateway, "sockets">,
  connectionId: string,
  reason: "superseded" | "revoked",
): Promise<void> {
  await sockets
    .post(connectionId, eventFrame("connection.ended", { reason }), { once: true })
    .catch(() => {});
}

/** Closes a socket and removes its records. @param openedAt as in `closeSocket` */
export async function endSocket(gateway: Gateway, connectionId: string, openedAt?: number): Promise<void> {
  await gateway.sockets.close(connectionId);
  await closeSocket(gateway, connectionId, openedAt, true);
}

/**
 * Like `endSocket`, for a socket whose token was revoked. It must not stay open, so the timer closes it a second time in
 * case the first close was lost.
 * @throws when both the close and the schedule of the second one failed
 */
export async function endRevoked(gateway: Gateway, connectionId: string): Promise<void> {
  await tellEnd(gateway, connectionId, "revoked");
  const [closed, scheduled] = await Promise.allSettled([
    gateway.sockets.close(connectionId),
    scheduleCloseAgain(gateway, connectionId),
  ]);
  if (closed.status === "rejected") {
    logError("socket.unclosed", closed.reason, { connectionId });
    if (scheduled.status === "rejected") throw scheduled.reason;
  }
  await closeSocket(gateway, connectionId, undefined, true);
}

async function scheduleCloseAgain(gateway: Gateway, connectionId: string): Promise<void> {
  const digest = createHash("sha256").update(connectionId).digest("hex").slice(0, 40);
  const at = gateway.now() + closeAgainMs;
  await gateway.schedules.once(`close-${digest}`, at, { kind: "close", connectionId });
}
