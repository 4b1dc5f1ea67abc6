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

/** Time after which the timer closes a socket again that `endRevoked` has closed, in milliseconds. */
const closeAgainMs = 5000;

/**
 * Handles the route `$connect`. A token in the Authorization header is checked here: a wrong token is refused
 * with 401. Without a token the socket has `authTimeoutMs` to show one in `connect`, unless the stage requires
 * the header.
 * @param openedAt epoch ms, by API Gateway's clock
 * @returns the HTTP status of the upgrade: 200 or 401
 */
export async function openSocket(
  gateway: Gateway,
  connectionId: string,
  openedAt: number,
  token: string | undefined,
): Promise<number> {
  if (token === undefined) return openWithoutToken(gateway, { connectionId, openedAt });
  const holder = await gateway.tokens.verify(token);
  if (!holder) return refuseSocket(connectionId);
  const { id: tokenId, scopes, channel, accountId } = holder;
  const bound = channel === undefined ? {} : { channel, accountId };
  await openConnection(gateway.table, { connectionId, openedAt, tokenId, scopes, ...bound });
  return 200;
}

async function openWithoutToken(gateway: Gateway, socket: AnonymousSocket): Promise<number> {
  if (gateway.requiresHeader) return refuseSocket(socket.connectionId);
  await Promise.all([openAnonymous(gateway.table, socket), scheduleClose(gateway, socket.openedAt)]);
  return 200;
}

function refuseSocket(connectionId: string): number {
  log("socket.refused", { connectionId });
  return 401;
}

/**
 * Has the timer close the sockets of a slot that have not connected by then. A warm function asks for each
 * slot once; a schedule that another one made stays as it is.
 */
async function scheduleClose({ schedules, closing }: Gateway, openedAt: number): Promise<void> {
  const slot = slotOf(openedAt);
  if (closing.slot === slot) return;
  const at = (slot + 1) * slotMs + authTimeoutMs;
  await schedules.once(`auth-slot-${slot}`, at, { kind: "auth-timeout", slot });
  closing.slot = slot;
}

/**
 * Handles the route `$disconnect`: removes the connection and its peer. For a node, fails the requests that
 * wait for it. For a client, ends the calls that it waits for.
 * @param openedAt epoch ms, by API Gateway's clock; not needed for a socket that has shown a token
 */
export async function closeSocket(gateway: Gateway, connectionId: string, openedAt?: number): Promise<void> {
  const wasConnected = gateway.connected.delete(connectionId);
  const isAnonymous = !wasConnected && openedAt !== undefined;
  if (isAnonymous && (await dropAnonymous(gateway.table, { connectionId, openedAt }))) return;
  const peer = await dropConnection(gateway.table, connectionId);
  if (peer?.mode === "client") await endCallsOf(gateway, connectionId);
  if (peer?.mode !== "node") return;
  await failDeferred(gateway, peer.id, (ended) => ended === connectionId);
  const back = await readPeer(gateway.table, "node", peer.id, gateway.now());
  if (!back) await tellNodeChange(gateway, { nodeId: peer.id, connected: false, tools: [] });
}

/** Has the nodes end the calls that a client made itself and does not wait for any more. */
async function endCallsOf(gateway: Gateway, connectionId: string): Promise<void> {
  const nodes = await listPeers(gateway.table, "node", gateway.now());
  const able = nodes.filter(({ capabilities }) => capabilities?.includes(cancelCapability));
  const calls = await callsOfClient(
    gateway,
    able.map(({ id }) => id),
    connectionId,
  );
  await cancelCalls(gateway, async () => able, calls);
}

/** Tells all clients that a node has come or gone. Clients can do without: a failure is only logged. */
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

/** Tells a peer that it must not connect again. A peer that cannot be told connects again, and is refused then. */
export async function tellEnd(
  { sockets }: Pick<Gateway, "sockets">,
  connectionId: string,
  reason: "superseded" | "revoked",
): Promise<void> {
  await sockets
    .post(connectionId, eventFrame("connection.ended", { reason }), { once: true })
    .catch(() => {});
}

/** Closes a socket and removes what is known of it. @param openedAt as in `closeSocket` */
export async function endSocket(gateway: Gateway, connectionId: string, openedAt?: number): Promise<void> {
  await gateway.sockets.close(connectionId);
  await closeSocket(gateway, connectionId, openedAt);
}

/**
 * As `endSocket`, for a socket whose token was revoked. It must not stay open: the timer closes it a second time, in case
 * the first was lost.
 * @throws when it could neither be closed nor be left to the timer
 */
export async function endRevoked(gateway: Gateway, connectionId: string): Promise<void> {
  await tellEnd(gateway, connectionId, "revoked");
  const [closed, left] = await Promise.allSettled([
    gateway.sockets.close(connectionId),
    scheduleCloseAgain(gateway, connectionId),
  ]);
  if (closed.status === "rejected") {
    logError("socket.unclosed", closed.reason, { connectionId });
    if (left.status === "rejected") throw left.reason;
  }
  await closeSocket(gateway, connectionId);
}

async function scheduleCloseAgain(gateway: Gateway, connectionId: string): Promise<void> {
  const digest = createHash("sha256").update(connectionId).digest("hex").slice(0, 40);
  const at = gateway.now() + closeAgainMs;
  await gateway.schedules.once(`close-${digest}`, at, { kind: "close", connectionId });
}
