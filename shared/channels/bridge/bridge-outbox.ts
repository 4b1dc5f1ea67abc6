import { randomUUID } from "node:crypto";
import type { ChannelOutbound, OutboundMedia } from "../../protocol/events.ts";
import type { Sender } from "../../session/inbox-entry.ts";
import { absent, all, any, below, differs, exists, remove, set } from "../../world/expression.ts";
import { type Item, succeeds, type Table } from "../../world/world.ts";
import type { ChannelAddress } from "../channel.ts";

/** TTL of a queued message, in seconds. */
const keptSeconds = 2 * 86_400;

/** Age in milliseconds after which a claimed message may be sent again: its claimer may have crashed. */
const claimMs = 30_000;

/** Maximum number of queued messages of one bridge. */
export const maxWaiting = 200;

/** A file of a queued message. `key`: the object with its bytes. */
export type KeptFile = Omit<OutboundMedia, "url"> & { key: string };

/** The event payload for the bridge. URLs of its files are created when it is sent. */
export type KeptOutbound = Omit<ChannelOutbound, "message"> & {
  message: Omit<ChannelOutbound["message"], "media"> & { media?: KeptFile[] };
};

/** A queued message for a bridge. */
export interface Waiting {
  /** Unique id; a retry with the same id is the same message. */
  id: string;
  /** Time of queueing; epoch ms. */
  at: number;
  payload: KeptOutbound;
  /** It is dropped when this person is no longer an owner. */
  whileOwner?: Sender;
  /** The connection it was last sent on, without a receipt so far. */
  postedTo?: string;
  /** Time of the claim for sending on `postedTo`; epoch ms. */
  postedAt?: number;
  /** Unique id of the claim, by which a repeated write recognizes its own. */
  claim?: string;
}

const partitionOf = ({ channel, accountId }: ChannelAddress) => `OUT#${channel}#${accountId}`;
const keyOf = (address: ChannelAddress, id: string) => ({ pk: partitionOf(address), sk: id });

/** The queued messages of a bridge, oldest first. */
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

/** Queues a message until its bridge confirms it. A message that is already queued is not changed. */
export async function keepMessage(table: Table, address: ChannelAddress, message: Waiting): Promise<void> {
  const { id, ...fields } = message;
  const expiresAt = Math.floor(message.at / 1000) + keptSeconds;
  const item: Item = { ...(fields as unknown as Item), expiresAt };
  await succeeds(table.put({ ...item, ...keyOf(address, id) }, absent("pk")));
}

/** Whether a message is due on a connection: it was not sent there, or its claim is old. */
export function isDue(
  { postedTo, postedAt = Number.POSITIVE_INFINITY }: Waiting,
  connectionId: string,
  now: number,
): boolean {
  return postedTo !== connectionId || postedAt < now - claimMs;
}

/** Claims a due message for sending on a connection. False when it has another claim or was deleted. */
export async function claimMessage(
  table: Table,
  address: ChannelAddress,
  id: string,
  connectionId: string,
  now: number,
): Promise<boolean> {
  const due = any(differs("postedTo", connectionId), below("postedAt", now - claimMs));
  const key = keyOf(address, id);
  const claim = randomUUID();
  const steps = [set("postedTo", connectionId), set("postedAt", now), set("claim", claim)];
  if (await succeeds(table.update(key, steps, all(exists("pk"), due)))) return true;
  // The SDK repeats a write whose response was lost. The condition then fails because of our own claim.
  return (await table.get(key))?.claim === claim;
}

/** Releases a claim after a failed send. */
export async function unclaimMessage(table: Table, address: ChannelAddress, id: string): Promise<void> {
  await succeeds(table.update(keyOf(address, id), [remove("postedTo"), remove("postedAt")], exists("pk")));
}

/** The content of a queued message; undefined when the message does not exist. */
export async function findMessage(
  table: Table,
  address: ChannelAddress,
  id: string,
): Promise<KeptOutbound | undefined> {
  return (await table.get(keyOf(address, id)))?.payload as KeptOutbound | undefined;
}

/** Deletes a message. @returns false when it does not exist */
export async function dropMessage(table: Table, address: ChannelAddress, id: string): Promise<boolean> {
  return (await table.delete(keyOf(address, id))) !== undefined;
}
