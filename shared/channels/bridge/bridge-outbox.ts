import type { ChannelOutbound, OutboundMedia } from "../../protocol/events.ts";
import { absent, all, any, below, differs, exists, remove, set } from "../../world/expression.ts";
import { type Item, succeeds, type Table } from "../../world/world.ts";
import type { ChannelAddress } from "../channel.ts";

/** How long a message waits for its bridge, in seconds. */
const keptSeconds = 2 * 86_400;

/**
 * A message that was claimed this long ago and still waits may be sent once more: whoever claimed it may have
 * died.
 */
const claimMs = 30_000;

/** Most messages that wait for one bridge. */
export const maxWaiting = 200;

/** A file that waits with its message. `key`: where its bytes lie in the bucket. */
export type KeptFile = Omit<OutboundMedia, "url"> & { key: string };

/** What the bridge will be sent, with files whose URLs are made when it is sent. */
export type KeptOutbound = Omit<ChannelOutbound, "message"> & {
  message: Omit<ChannelOutbound["message"], "media"> & { media?: KeptFile[] };
};

/** A message for a bridge. */
export interface Waiting {
  /** Names it: a repeat is the same message. */
  id: string;
  /** When it was put here; epoch ms. */
  at: number;
  payload: KeptOutbound;
  /** The connection that it was sent on, and not heard of since. */
  postedTo?: string;
  /** When that was, or was about to be; epoch ms. */
  postedAt?: number;
}

const partitionOf = ({ channel, accountId }: ChannelAddress) => `OUT#${channel}#${accountId}`;
const keyOf = (address: ChannelAddress, id: string) => ({ pk: partitionOf(address), sk: id });

/** The messages that wait for a bridge, oldest first. */
export async function listWaiting(table: Table, address: ChannelAddress, now: number): Promise<Waiting[]> {
  const items = await table.query({ pk: partitionOf(address) });
  return items
    .filter(({ expiresAt }) => Number(expiresAt) > now / 1000)
    .map(
      ({ pk: _pk, sk, expiresAt: _expiresAt, ...rest }) =>
        ({ ...rest, id: String(sk) }) as unknown as Waiting,
    )
    .sort((a, b) => a.at - b.at);
}

/** Keeps a message until its bridge has taken it. What is kept already stays as it is. */
export async function keepMessage(table: Table, address: ChannelAddress, message: Waiting): Promise<void> {
  const { id, ...fields } = message;
  const expiresAt = Math.floor(message.at / 1000) + keptSeconds;
  const item: Item = { ...(fields as unknown as Item), expiresAt };
  await succeeds(table.put({ ...item, ...keyOf(address, id) }, absent("pk")));
}

/** Whether a message is to be sent on a connection: it was not, or long ago. */
export function isDue(
  { postedTo, postedAt = Number.POSITIVE_INFINITY }: Waiting,
  connectionId: string,
  now: number,
): boolean {
  return postedTo !== connectionId || postedAt < now - claimMs;
}

/**
 * Claims a message that is due for being sent on a connection. False when somebody else has claimed it, or it
 * is gone.
 */
export async function claimMessage(
  table: Table,
  address: ChannelAddress,
  id: string,
  connectionId: string,
  now: number,
): Promise<boolean> {
  const due = any(differs("postedTo", connectionId), below("postedAt", now - claimMs));
  const claim = [set("postedTo", connectionId), set("postedAt", now)];
  return succeeds(table.update(keyOf(address, id), claim, all(exists("pk"), due)));
}

/** Gives a claim back: the message was not sent after all. */
export async function unclaimMessage(table: Table, address: ChannelAddress, id: string): Promise<void> {
  await succeeds(table.update(keyOf(address, id), [remove("postedTo"), remove("postedAt")], exists("pk")));
}

/** Takes a message out. @returns false when it is not there */
export async function dropMessage(table: Table, address: ChannelAddress, id: string): Promise<boolean> {
  return (await table.delete(keyOf(address, id))) !== undefined;
}
