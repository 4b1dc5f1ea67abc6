import type { Peer } from "../protocol/channel-accounts.ts";
import { logError } from "../runtime/log.ts";
import type { Key, Table } from "../world/world.ts";
import type { ChannelAddress } from "./channel.ts";

/** How long a text that was sent is kept, in seconds. */
const keptSeconds = 30 * 86_400;

/** Max length of a text that is kept, in UTF-16 units. */
const maxKept = 1000;

/** A text that a session sent. */
export interface SentText {
  text: string;
  sessionKey: string;
}

/** A message of the gateway at a platform. */
export type SentId = ChannelAddress & { peer: Peer; messageId: string };

/** Keeps a text, for replies and reactions to it. A failure is only logged, because the text was sent. @param now epoch ms */
export async function keepSentText(
  table: Pick<Table, "put">,
  id: SentId,
  { text, sessionKey }: SentText,
  now: number,
): Promise<void> {
  const expiresAt = Math.floor(now / 1000) + keptSeconds;
  const item = { text: text.slice(0, maxKept).toWellFormed(), sessionKey, expiresAt, ...keyOf(id) };
  await table.put(item).catch((error) => logError("channel.text.unkept", error, { channel: id.channel }));
}

/** A text that was sent to this conversation. Undefined after 30 days, and for messages of others. @param now epoch ms */
export async function findSentText(
  table: Pick<Table, "get">,
  id: SentId,
  now: number,
): Promise<SentText | undefined> {
  const item = await table.get(keyOf(id));
  if (!item || Number(item.expiresAt) * 1000 <= now) return undefined;
  return item as unknown as SentText;
}

/** The messages of a room and of its threads are numbered together. */
function keyOf({ channel, accountId, peer, messageId }: SentId): Key {
  const end = peer.kind === "thread" ? peer.id.lastIndexOf("/") : -1;
  const room = end < 0 ? peer.id : peer.id.slice(0, end);
  return { pk: `SAID#${channel}#${accountId}#${peer.kind === "dm" ? "dm" : "room"}#${room}`, sk: messageId };
}
