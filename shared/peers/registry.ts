import type { ToolDefinition } from "../protocol/messages.ts";
import type { Scope } from "../protocol/methods.ts";
import type { NodeRuntime } from "../protocol/schemas.ts";
import { absent, add, all, any, atMost, equal, exists, type Step, set } from "../world/expression.ts";
import { ConditionFailed, type Item, type Key, succeeds, type Table } from "../world/world.ts";

/** What a peer is to this gateway; each needs a token with the scope of the same name. */
export const modes = ["client", "node", "channel"] as const;
export type Mode = (typeof modes)[number];

/** A socket, from `$connect` to `$disconnect`. Times are epoch ms. */
export interface ConnectionRecord {
  connectionId: string;
  /** By API Gateway's clock, which is the same for all sockets. */
  openedAt: number;
  /** Failed tries of `connect`. */
  failures: number;
  /** The token that this socket showed, at the upgrade or in `connect`. */
  tokenId?: string;
  scopes?: Scope[];
  /** Set once `connect` has succeeded; from then on the record does not change. */
  mode?: Mode;
  peerId?: string;
  capabilities?: string[];
  /** What the token is bound to; from `connect` in mode `channel` on, what the connection is for. */
  channel?: string;
  accountId?: string;
}

/** A connected client, node or channel, under the id it chose. One connection an id: the newest. */
export interface PeerRecord {
  id: string;
  mode: Mode;
  connectionId: string;
  /** The token that the connection was made with. */
  tokenId?: string;
  /** When the connection was opened, by API Gateway's clock. */
  openedAt?: number;
  connectedAt: number;
  version: string;
  platform: string;
  tools?: ToolDefinition[];
  runtime?: NodeRuntime;
  capabilities?: string[];
}

/** API Gateway ends a connection after two hours; a record outlives that by a little. Seconds. */
const recordTtlSeconds = 2 * 3600 + 600;

const connectionKey = (connectionId: string): Key => ({ pk: `CONN#${connectionId}`, sk: "META" });
const peerKey = (mode: Mode, id: string): Key => ({ pk: `PEER#${mode}`, sk: id });
const expiry = (now: number) => Math.floor(now / 1000) + recordTtlSeconds;
const isAlive = (item: Item, now: number) => Number(item.expiresAt) > now / 1000;

/** Notes a socket that has just been opened. */
export async function openConnection(table: Table, record: ConnectionRecord): Promise<void> {
  const item = record as unknown as Item;
  await table.put({ ...item, ...connectionKey(record.connectionId), expiresAt: expiry(record.openedAt) });
}

export async function readConnection(
  table: Table,
  connectionId: string,
  now: number,
): Promise<ConnectionRecord | undefined> {
  const item = await table.get(connectionKey(connectionId));
  return item && isAlive(item, now) ? (item as unknown as ConnectionRecord) : undefined;
}

/** Counts a failed `connect`; returns how many there were. */
export async function countFailure(table: Table, connectionId: string): Promise<number> {
  try {
    const item = await table.update(connectionKey(connectionId), [add("failures", 1)], exists("pk"));
    return Number(item.failures);
  } catch (error) {
    if (error instanceof ConditionFailed) return Number.POSITIVE_INFINITY;
    throw error;
  }
}

/**
 * Makes a socket the connection of a peer. Returns the connection that it replaces, if the peer had another.
 * False when the socket is connected already, or has ended meanwhile. "superseded" when the peer has a
 * connection that was opened after this one: a peer that lost its socket while `connect` was under way has
 * come back on another.
 */
export async function bindPeer(
  table: Table,
  connection: ConnectionRecord,
  peer: PeerRecord,
): Promise<{ replaced: string | undefined } | "superseded" | false> {
  const { connectionId, openedAt } = connection;
  const steps: Step[] = [set("mode", peer.mode), set("peerId", peer.id)];
  for (const name of ["tokenId", "scopes", "capabilities", "channel", "accountId"] as const) {
    const value = connection[name];
    if (value !== undefined) steps.push(set(name, value));
  }
  try {
    // A repeat of this very write, its answer lost, finds the mode set by itself.
    const open = all(exists("openedAt"), any(absent("mode"), equal("peerId", peer.id)));
    await table.update(connectionKey(connectionId), steps, open);
  } catch (error) {
    if (error instanceof ConditionFailed) return false;
    throw error;
  }
  const key = peerKey(peer.mode, peer.id);
  const before = await table.get(key);
  const item = { ...peer, openedAt } as unknown as Item;
  try {
    const newest = any(absent("openedAt"), atMost("openedAt", openedAt));
    await table.put({ ...item, ...key, expiresAt: expiry(peer.connectedAt) }, newest);
  } catch (error) {
    if (error instanceof ConditionFailed) return "superseded";
    throw error;
  }
  const replaced = before && String(before.connectionId);
  return { replaced: replaced === connectionId ? undefined : replaced };
}

/**
 * Forgets a socket that has ended. Returns the peer that it was, which may have connected anew meanwhile;
 * undefined when the socket was no peer, or is forgotten already.
 */
export async function dropConnection(
  table: Table,
  connectionId: string,
): Promise<{ mode: Mode; id: string } | undefined> {
  const item = await table.delete(connectionKey(connectionId));
  return forget(table, item as ConnectionRecord | undefined);
}

/**
 * Forgets the peer of a socket that turned out to be gone. The socket's own record stays for its
 * `$disconnect`, which still has to answer those who wait for the peer.
 */
export async function forgetPeer(table: Table, connectionId: string): Promise<void> {
  const item = await table.get(connectionKey(connectionId));
  await forget(table, item as ConnectionRecord | undefined);
}

async function forget(
  table: Table,
  record: ConnectionRecord | undefined,
): Promise<{ mode: Mode; id: string } | undefined> {
  if (!record?.mode || record.peerId === undefined) return undefined;
  const { connectionId, mode, peerId: id } = record;
  await succeeds(table.delete(peerKey(mode, id), equal("connectionId", connectionId)));
  return { mode, id };
}

export async function readPeer(
  table: Table,
  mode: Mode,
  id: string,
  now: number,
): Promise<PeerRecord | undefined> {
  const item = await table.get(peerKey(mode, id));
  return item && isAlive(item, now) ? (item as unknown as PeerRecord) : undefined;
}

/** Every connected peer of a mode, by id. */
export async function listPeers(table: Table, mode: Mode, now: number): Promise<PeerRecord[]> {
  const items = await table.query({ pk: `PEER#${mode}` });
  return items.filter((item) => isAlive(item, now)) as unknown as PeerRecord[];
}
