import { absent, any, below, set } from "../aws/expression.ts";
import { ConditionFailed, type Key, type Table } from "../aws/table.ts";
import type { ChannelAddress } from "./channel.ts";

/** How long a receipt is kept, in seconds: WhatsApp repeats what was not taken for a week, the others for a day at most. */
const keptSeconds = 8 * 86_400;

/** An event as its platform names it. */
export type EventId = ChannelAddress & { eventId: string };

/**
 * Notes that an event has come in. False when it was dealt with before. An event that somebody began with and did not
 * end, or is dealing with just now, is taken up again: what follows has to bear that.
 * @param now epoch ms
 */
export async function openReceipt(table: Table, event: EventId, now: number): Promise<boolean> {
  const key = receiptKey(event);
  const seconds = Math.floor(now / 1000);
  const isNew = any(absent("pk"), below("expiresAt", seconds));
  try {
    await table.put({ ...key, state: "pending", expiresAt: seconds + keptSeconds }, isNew);
    return true;
  } catch (error) {
    if (!(error instanceof ConditionFailed)) throw error;
  }
  return (await table.get(key))?.state !== "done";
}

/** Notes that an event was dealt with, so that a redelivery does nothing. */
export async function closeReceipt(table: Table, event: EventId): Promise<void> {
  await table.update(receiptKey(event), [set("state", "done")]);
}

function receiptKey({ channel, accountId, eventId }: EventId): Key {
  return { pk: `RX#${channel}#${accountId}#${eventId}`, sk: "RECEIPT" };
}
