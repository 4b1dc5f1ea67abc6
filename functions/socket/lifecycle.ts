import { createHash } from "node:crypto";
import { dropConnection, openConnection } from "../../shared/peers/registry.ts";
import { log } from "../../shared/runtime/log.ts";
import { failDeferred } from "./deferred.ts";
import type { Gateway } from "./gateway.ts";

/** A socket that has shown no valid token after this long is closed. Milliseconds. */
export const authTimeoutMs = 30_000;

/**
 * `$connect`. A token in the Authorization header is checked here, so that a wrong one never gets a socket.
 * Without one the socket has half a minute to show it in `connect`.
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
    await scheduleClose(gateway, connectionId, openedAt + authTimeoutMs);
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

/** `$disconnect`: forgets the peer, and answers those who wait for a node that is gone. */
export async function closeSocket(gateway: Gateway, connectionId: string): Promise<void> {
  gateway.connected.delete(connectionId);
  const peer = await dropConnection(gateway.table, connectionId);
  if (peer?.mode === "node") await failDeferred(gateway, peer.id, (ended) => ended === connectionId);
}

async function scheduleClose(gateway: Gateway, connectionId: string, at: number): Promise<void> {
  const digest = createHash("sha256").update(connectionId).digest("hex").slice(0, 40);
  await gateway.schedules.once(`auth-${digest}`, at, { kind: "auth-timeout", connectionId });
}
