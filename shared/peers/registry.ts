import type { ToolDefinition } from "../protocol/messages.ts";
import type { Scope } from "../protocol/methods.ts";
import type { NodeRuntime } from "../protocol/schemas.ts";
import {
  absent,
  add,
  all,
  any,
  atMost,
  below,
  type Condition,
  equal,
  exists,
  type Step,
  set,
} from "../world/expression.ts";
import { ConditionFailed, type Item, type Key, succeeds, type Table } from "../world/world.ts";

/**
 * The modes of a peer. Each needs a token with the scope of the same name. `mcp`: a program that uses the agent through MCP,
 * which a token with the scope `client` may do too. It gets no events.
 */
export const modes = ["client", "node", "channel", "mcp"] as const;
export type Mode = (typeof modes)[number];
export const isMode = (name: string): name is Mode => modes.some((mode) => mode === name);

/** A socket, from `$connect` to `$disconnect`. Times are epoch ms. */
export interface ConnectionRecord {
  connectionId: string;
  /** By API Gateway's clock. */
  openedAt: number;
  /** Number of frames before `connect` succeeded. Absent in records of earlier versions. */
  frames?: number;
  /** The socket's token, from the upgrade or from `connect`. */
  tokenId?: string;
  scopes?: Scope[];
  /** When the token expires; epoch ms. Absent: never. */
  until?: number;
  /** Set once `connect` has succeeded; from then on the record does not change. */
  mode?: Mode;
  peerId?: string;
  capabilities?: string[];
  /** The token's binding. After `connect` in mode `channel`: the connection's channel and account. */
  channel?: string;
  accountId?: string;
}

/** A connected client, node or channel, by its own id. Only the newest connection of an id is kept. */
export interface PeerRecord {
  id: string;
  mode: Mode;
  connectionId: string;
  /** Id of the connection's token. */
  tokenId: string;
  /** When the token expires; epoch ms. Absent: never. */
  until?: number;
  /** When the connection was opened, by API Gateway's clock; epoch ms. */
  openedAt?: number;
  connectedAt: number;
  version: string;
  platform: string;
  tools?: ToolDefinition[];
  runtime?: NodeRuntime;
  /** Number of a node's answers about its programs that are merged into `runtime` (`shared/skills/bin-probes.ts`). */
  binAnswers?: number;
  capabilities?: string[];
  /** Identifies the process of a node (`shared/peers/node-place.ts`). */
  instance?: string;
  /** Of a node that has disconnected: when; epoch ms. Only `listNodes` returns such a record. */
  leftAt?: number;
  /** When `node.ping` was last sent to a node, and when it last answered; epoch ms. */
  askedAt?: number;
  answeredAt?: number;
}

/**
 * TTL of a record, in seconds: a little more than the two hours after which API Gateway ends a connection.
 */
export const recordTtlSeconds = 2 * 3600 + 600;

/** TTL of the record of a disconnected node, in seconds: its tools are offered for up to 30 days (`nodes.keepOfferedHours`). */
const leftTtlSeconds = 30 * 24 * 3600;

const connectionKey = (connectionId: string): Key => ({ pk: `CONN#${connectionId}`, sk: "META" });
/** The item of a peer. */
export const peerKey = (mode: Mode, id: string): Key => ({ pk: `PEER#${mode}`, sk: id });
/**
 * The mark of a revoked token, in the partition of a mode's peers. No peer's id begins with `#`.
 */
const revokedKey = (mode: Mode, tokenId: string): Key => ({ pk: `PEER#${mode}`, sk: `#revoked#${tokenId}` });
const expiry = (now: number) => Math.floor(now / 1000) + recordTtlSeconds;
const leftExpiry = (now: number) => Math.floor(now / 1000) + leftTtlSeconds;
const isAlive = (item: Item, now: number) => Number(item.expiresAt) > now / 1000;

/** Stores the record of a new socket. @throws ConditionFailed when the condition does not hold */
export async function openConnection(
  table: Table,
  record: ConnectionRecord,
  condition?: Condition,
): Promise<void> {
  const item = record as unknown as Item;
  const key = connectionKey(record.connectionId);
  await table.put({ ...item, ...key, expiresAt: expiry(record.openedAt) }, condition);
}

export async function readConnection(
  table: Table,
  connectionId: string,
  now: number,
): Promise<ConnectionRecord | undefined> {
  const item = await table.get(connectionKey(connectionId));
  return item && isAlive(item, now) ? (item as unknown as ConnectionRecord) : undefined;
}

/**
 * Counts a frame of a socket that has not connected.
 * @returns the number of frames; undefined when the socket has connected or ended
 */
export async function countFrame(table: Table, connectionId: string): Promise<number | undefined> {
  const unconnected = all(exists("pk"), absent("mode"));
  try {
    return Number((await table.update(connectionKey(connectionId), [add("frames", 1)], unconnected)).frames);
  } catch (error) {
    if (error instanceof ConditionFailed) return undefined;
    throw error;
  }
}

/** Deletes the record of a socket, unless it has connected. @returns false when it has, or has ended */
export async function dropUnconnected(table: Table, connectionId: string): Promise<boolean> {
  return succeeds(table.delete(connectionKey(connectionId), all(exists("pk"), absent("mode"))));
}

/**
 * Registers a socket as the connection of a peer.
 * @returns `replaced`: the peer's earlier connection, if any; false when the socket is already connected or
 * has ended; "superseded" when the peer has a newer connection, because it reconnected during this `connect`
 */
export async function bindPeer(
  table: Table,
  connection: ConnectionRecord,
  peer: PeerRecord,
): Promise<{ replaced: string | undefined } | "superseded" | false> {
  const { connectionId, openedAt } = connection;
  const steps: Step[] = [set("mode", peer.mode), set("peerId", peer.id)];
  for (const name of ["tokenId", "scopes", "until", "capabilities", "channel", "accountId"] as const) {
    const value = connection[name];
    if (value !== undefined) steps.push(set(name, value));
  }
  try {
    // The SDK repeats a write whose response was lost: the mode may already be set by this write.
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
  const replaced = before && before.leftAt === undefined ? String(before.connectionId) : undefined;
  return { replaced: replaced === connectionId ? undefined : replaced };
}

/**
 * Deletes the record of an ended socket and its peer. Returns the peer, which may have reconnected on another socket;
 * undefined when the socket had no peer or no record.
 * @param leftAt keep the record of a node, as disconnected at this time; epoch ms
 */
export async function dropConnection(
  table: Table,
  connectionId: string,
  leftAt?: number,
): Promise<{ mode: Mode; id: string } | undefined> {
  const item = await table.delete(connectionKey(connectionId));
  return forget(table, item as ConnectionRecord | undefined, leftAt);
}

/**
 * Does the same with the peer of a socket that is found gone. The connection record stays for `$disconnect`, which fails the
 * requests that wait for the peer.
 */
export async function forgetPeer(table: Table, connectionId: string, now: number): Promise<void> {
  const item = await table.get(connectionKey(connectionId));
  await forget(table, item as ConnectionRecord | undefined, now);
}

/**
 * Stores which programs a connected node has. Does nothing when the node is not connected, or its record is not older.
 */
export async function setNodeBins(
  table: Table,
  nodeId: string,
  { answers, ...status }: Pick<NodeRuntime, "hostBinStatus" | "hostBinStatusUpdatedAt"> & { answers: number },
): Promise<void> {
  const steps = Object.entries(status).flatMap(([name, value]) =>
    value === undefined ? [] : [set(["runtime", name], value)],
  );
  const isOlder = any(absent("binAnswers"), below("binAnswers", answers));
  const key = peerKey("node", nodeId);
  await succeeds(table.update(key, [...steps, set("binAnswers", answers)], all(exists("runtime"), isOlder)));
}

async function forget(
  table: Table,
  record: ConnectionRecord | undefined,
  leftAt: number | undefined,
): Promise<{ mode: Mode; id: string } | undefined> {
  if (!record?.mode || record.peerId === undefined) return undefined;
  const { connectionId, mode, peerId: id } = record;
  const key = peerKey(mode, id);
  const isOurs = equal("connectionId", connectionId);
  if (mode !== "node" || leftAt === undefined) await succeeds(table.delete(key, isOurs));
  else {
    const left = [set("leftAt", leftAt), set("expiresAt", leftExpiry(leftAt))];
    await succeeds(table.update(key, left, all(isOurs, absent("leftAt"))));
  }
  return { mode, id };
}

/** A connected peer; undefined when its token is revoked or has expired. */
export async function readPeer(
  table: Table,
  mode: Mode,
  id: string,
  now: number,
): Promise<PeerRecord | undefined> {
  return (await listPeers(table, mode, now)).find((peer) => peer.id === id);
}

/**
 * Every connected peer of a mode, by id, without those whose token is revoked or has expired. The same query reads the marks of revoked
 * tokens, so that a list which starts after a revocation never contains peers with that token.
 */
export async function listPeers(table: Table, mode: Mode, now: number): Promise<PeerRecord[]> {
  return (await listKnown(table, mode, now)).filter(isConnected);
}

/** Every connected node, and the nodes that have disconnected in the last 30 days (`leftAt`), by id. */
export function listNodes(table: Table, now: number): Promise<PeerRecord[]> {
  return listKnown(table, "node", now);
}

export const isConnected = ({ leftAt }: PeerRecord) => leftAt === undefined;

/** Deletes the record of a node, unless it has connected again: its tools are no longer offered. */
export async function forgetNode(
  table: Table,
  { id, connectionId }: Pick<PeerRecord, "id" | "connectionId">,
): Promise<void> {
  await succeeds(table.delete(peerKey("node", id), equal("connectionId", connectionId)));
}

async function listKnown(table: Table, mode: Mode, now: number): Promise<PeerRecord[]> {
  const items = await table.query({ pk: `PEER#${mode}` });
  const revoked = new Set(items.map(({ revokedToken }) => revokedToken));
  const isGood = ({ tokenId, until }: Item) =>
    !revoked.has(tokenId) && (until === undefined || now < Number(until));
  const isKnown = (item: Item) => item.revokedToken === undefined && isAlive(item, now) && isGood(item);
  return items.filter(isKnown) as unknown as PeerRecord[];
}

/**
 * Hides the peers with this token from every list of peers that starts from now on. Safe to repeat.
 * @param now epoch milliseconds
 */
export async function hidePeersOf(table: Table, tokenId: string, now: number): Promise<void> {
  // The record of a peer that was registered before this expires earlier, also if it disconnects now.
  const mark = { revokedToken: tokenId, expiresAt: leftExpiry(now) + recordTtlSeconds };
  await Promise.all(modes.map((mode) => table.put({ ...mark, ...revokedKey(mode, tokenId) })));
}

/** The connection ids of all peers with this token, also when it is revoked. */
export async function connectionsOf(table: Table, tokenId: string): Promise<string[]> {
  const items = await Promise.all(modes.map((mode) => table.query({ pk: `PEER#${mode}` })));
  return items
    .flat()
    .filter((item) => item.tokenId === tokenId)
    .map((item) => String(item.connectionId));
}
