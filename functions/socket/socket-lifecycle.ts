import { createHash } from "node:crypto";
import { dropConnection, openConnection } from "../../shared/peers/registry.ts";
import { log, logError } from "../../shared/runtime/log.ts";
import { failDeferred } from "./deferred.ts";
import type { Gateway } from "./gateway.ts";

/** Time within which a socket must show a valid token, in milliseconds. It is closed otherwise. */
export const authTimeoutMs = 30_000;

/** Time after which the timer closes a socket again that `endSurely` has closed, in milliseconds. */
const closeAgainMs = 5000;

/**
 * Handles the route `$connect`. A token in the Authorization header is checked here: a wrong token is refused
 * with 401. Without a token the socket has `authTimeoutMs` to show one in `connect`.
 * @param openedAt epoch ms, by API Gateway's clock
 * @returns the HTTP status of the upgrade: 200 or 401
 */
export async function openSocket(
  gateway: Gateway,
  connectionId: string,
  openedAt: number,
  token: string | undefined,
): Promise<number> {
  const record = { connectionId, openedAt, failures: 0 };
  if (token === undefined) {
    await openConnection(gateway.table, record);
    await scheduleClose(gateway, "auth-timeout", connectionId, openedAt + authTimeoutMs);
    return 200;
  }
  const holder = await gateway.tokens.verify(token);
  if (!holder) {
    log("socket.refused", { connectionId });
    return 401;
  }
  const { id: tokenId, scopes, channel, accountId } = holder;
  const bound = channel === undefined ? {} : { channel, accountId };
  await openConnection(gateway.table, { ...record, tokenId, scopes, ...bound });
  return 200;
}

/**
 * Handles the route `$disconnect`: removes the connection and its peer. For a node, fails the requests that
 * wait for it.
 */
export async function closeSocket(gateway: Gateway, connectionId: string): Promise<void> {
  gateway.connected.delete(connectionId);
  const peer = await dropConnection(gateway.table, connectionId);
  if (peer?.mode === "node") await failDeferred(gateway, peer.id, (ended) => ended === connectionId);
}

/** Closes a socket and removes what is known of it. */
export async function endSocket(gateway: Gateway, connectionId: string): Promise<void> {
  await gateway.sockets.close(connectionId);
  await closeSocket(gateway, connectionId);
}

/**
 * As `endSocket`, for a socket that must not stay open: the timer closes it a second time, in case the first
 * time was lost.
 * @throws when it could neither be closed nor be left to the timer
 */
export async function endSurely(gateway: Gateway, connectionId: string): Promise<void> {
  const [closed, left] = await Promise.allSettled([
    gateway.sockets.close(connectionId),
    scheduleClose(gateway, "close", connectionId, gateway.now() + closeAgainMs),
  ]);
  if (closed.status === "rejected") {
    logError("socket.unclosed", closed.reason, { connectionId });
    if (left.status === "rejected") throw left.reason;
  }
  await closeSocket(gateway, connectionId);
}

async function scheduleClose(
  gateway: Gateway,
  kind: "auth-timeout" | "close",
  connectionId: string,
  at: number,
): Promise<void> {
  const digest = createHash("sha256").update(connectionId).digest("hex").slice(0, 40);
  await gateway.schedules.once(`${kind}-${digest}`, at, { kind, connectionId });
}
