import { absent, add, exists } from "../world/expression.ts";
import { ConditionFailed, type Key, succeeds, type Table } from "../world/world.ts";
import { type ConnectionRecord, dropConnection, openConnection, recordTtlSeconds } from "./registry.ts";

/**
 * Sockets that were opened without a token and have not connected. Anybody can open them, so each costs one
 * small item, which is deleted when the socket connects or ends. The sockets that were opened in the same ten
 * seconds share a partition, so that one schedule and one query close those that are left.
 */
export type AnonymousSocket = Pick<ConnectionRecord, "connectionId" | "openedAt">;

/** Length of a slot, in milliseconds. */
export const slotMs = 10_000;

/** The number of the slot in which a socket was opened. @param openedAt epoch ms, by API Gateway's clock */
export function slotOf(openedAt: number): number {
  return Math.floor(openedAt / slotMs);
}

const partitionOf = (slot: number) => `ANON#${slot}`;
const keyOf = ({ connectionId, openedAt }: AnonymousSocket): Key => ({
  pk: partitionOf(slotOf(openedAt)),
  sk: connectionId,
});

export async function openAnonymous(table: Table, socket: AnonymousSocket): Promise<void> {
  const expiresAt = Math.floor(socket.openedAt / 1000) + recordTtlSeconds;
  await table.put({ ...keyOf(socket), frames: 0, expiresAt });
}

/** Counts a frame. @returns the number of frames; undefined when the socket has connected or ended */
export async function countAnonymousFrame(
  table: Table,
  socket: AnonymousSocket,
): Promise<number | undefined> {
  try {
    return Number((await table.update(keyOf(socket), [add("frames", 1)], exists("pk"))).frames);
  } catch (error) {
    if (error instanceof ConditionFailed) return undefined;
    throw error;
  }
}

/**
 * Gives an anonymous socket a connection record, after it has sent a valid token.
 * @returns false when the socket has ended, or another of its frames has already connected it
 */
export async function admitAnonymous(table: Table, record: ConnectionRecord): Promise<boolean> {
  // In this order, `$disconnect` always finds one of the two.
  if (!(await succeeds(openConnection(table, record, absent("pk"))))) return false;
  if (await dropAnonymous(table, record)) return true;
  await dropConnection(table, record.connectionId);
  return false;
}

/** Deletes the item of a socket. @returns false when the socket has connected or ended */
export async function dropAnonymous(table: Table, socket: AnonymousSocket): Promise<boolean> {
  return succeeds(table.delete(keyOf(socket), exists("pk")));
}

/** The connection ids of the sockets of a slot that have neither connected nor ended. */
export async function listAnonymous(table: Table, slot: number): Promise<string[]> {
  return (await table.query({ pk: partitionOf(slot) })).map(({ sk }) => String(sk));
}
