import { absent, any, below, set, setIfAbsent } from "../../world/expression.ts";
import { type Key, succeeds, type Table } from "../../world/world.ts";
import type { ChannelAddress } from "../channel.ts";

/**
 * How long a receipt is kept, in seconds: WhatsApp repeats what was not taken for a week, the others for a
 * day at most.
 */
const keptSeconds = 8 * 86_400;

/** An event as its platform names it. */
export type EventId = ChannelAddress & { eventId: string };

/** What is known of an event. `answer`: the command that it was is carried out, and answers this. */
export interface Receipt {
  isDone: boolean;
  answer?: string;
}

/**
 * Notes that an event has come in, and tells what is known of it from before. An event that somebody began
 * with and did not end, or is dealing with just now, is taken up again: what follows has to bear that.
 * @param now epoch ms
 */
export async function openReceipt(table: Table, event: EventId, now: number): Promise<Receipt> {
  const key = receiptKey(event);
  const seconds = Math.floor(now / 1000);
  const isNew = any(absent("pk"), below("expiresAt", seconds));
  const receipt = { ...key, state: "pending", expiresAt: seconds + keptSeconds };
  if (await succeeds(table.put(receipt, isNew))) return { isDone: false };
  const found = await table.get(key);
  return {
    isDone: found?.state === "done",
    ...(found?.answer === undefined ? {} : { answer: String(found.answer) }),
  };
}

/**
 * Notes what a command answers once it is carried out, so that a repeat sends that instead of carrying it out
 * again: by then it would mean another run.
 * @returns the answer that was noted first
 */
export async function noteAnswer(table: Table, event: EventId, answer: string): Promise<string> {
  return String((await table.update(receiptKey(event), [setIfAbsent("answer", answer)])).answer);
}

/** Notes that an event was dealt with, so that a redelivery does nothing. */
export async function closeReceipt(table: Table, event: EventId): Promise<void> {
  await table.update(receiptKey(event), [set("state", "done")]);
}

function receiptKey({ channel, accountId, eventId }: EventId): Key {
  return { pk: `RX#${channel}#${accountId}#${eventId}`, sk: "RECEIPT" };
}
