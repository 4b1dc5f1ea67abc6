import { createHash } from "node:crypto";
import { absent, any, append, atMost, below, set, setIfAbsent } from "../../world/expression.ts";
import { type Item, type Key, succeeds, type Table } from "../../world/world.ts";
import type { ChannelAddress, InboundMessage } from "../channel.ts";

/**
 * TTL of a receipt, in seconds: WhatsApp redelivers failed events for a week, other platforms for at most a
 * day.
 */
const keptSeconds = 8 * 86_400;

/**
 * Whether the receipt of a message may already be deleted, so that a replay would count as new.
 * @param timestamp when the platform got the message, epoch ms
 * @param now epoch ms
 */
export function isPastReceipt(timestamp: number, now: number): boolean {
  return now - timestamp > keptSeconds * 1000;
}

/** The address of a platform's event. */
export type EventId = ChannelAddress & { eventId: string };

/**
 * The state of an event. `isRepeated`: an earlier attempt may have handled a part of it. `sessionKeys`: the sessions to which
 * an attempt may append it. `answer`: the response of its command, which was already executed.
 */
export interface Receipt {
  isDone: boolean;
  isRepeated: boolean;
  sessionKeys: string[];
  answer?: string;
  /** The digest of the words that were handled last (`wordsDigest`). */
  words?: string;
  /** The time of the newest edit that was handled. */
  editedAt?: number;
}

/** The words and files of a message. An edit that changes nothing else, such as a preview, asks the same question. */
function wordsDigest({ text, attachments = [], enclosed = [] }: Words): string {
  const files = attachments.map(({ source: _, ...file }) => file);
  return createHash("sha256")
    .update(JSON.stringify([text, files, enclosed]))
    .digest("base64url")
    .slice(0, 22);
}

type Words = Pick<InboundMessage, "text" | "attachments" | "enclosed" | "editedAt">;

/** Whether an edit asks what was handled last. */
export function isUnchanged(message: Words, { words }: Pick<Receipt, "words">): boolean {
  return wordsDigest(message) === words;
}

/**
 * Records an event and returns its earlier state. An event that was started but not finished is started
 * again, so the caller's work must be idempotent.
 * @param sessionKey the session that this attempt will probably append it to
 * @param now epoch ms
 * @param message the event's, or its edit
 */
export async function openReceipt(
  table: Table,
  event: EventId,
  sessionKey: string,
  now: number,
  message: Words,
): Promise<Receipt> {
  const key = receiptKey(event);
  const seconds = Math.floor(now / 1000);
  const isNew = any(absent("pk"), below("expiresAt", seconds));
  const sessionKeys = [sessionKey];
  const edited: Item = message.editedAt === undefined ? {} : { editedAt: message.editedAt };
  const words = wordsDigest(message);
  const receipt: Item = { state: "pending", sessionKeys, words, expiresAt: seconds + keptSeconds, ...edited };
  if (await succeeds(table.put({ ...receipt, ...key }, isNew)))
    return { isDone: false, isRepeated: false, sessionKeys };
  const found = await table.get(key);
  return {
    isDone: found?.state === "done",
    isRepeated: true,
    // The previous release recorded none.
    sessionKeys: (found?.sessionKeys as string[] | undefined) ?? [],
    ...(found?.answer === undefined ? {} : { answer: String(found.answer) }),
    ...(found?.words === undefined ? {} : { words: String(found.words) }),
    ...(found?.editedAt === undefined ? {} : { editedAt: Number(found.editedAt) }),
  };
}

/** Records another session that an attempt will append an event to. */
export async function addSession(table: Table, event: EventId, sessionKey: string): Promise<void> {
  await table.update(receiptKey(event), [append("sessionKeys", sessionKey)]);
}

/**
 * Records the response of an executed command, so that a redelivery sends it again instead of executing the
 * command twice.
 * @returns the response that was recorded first
 */
export async function recordAnswer(table: Table, event: EventId, answer: string): Promise<string> {
  return String((await table.update(receiptKey(event), [setIfAbsent("answer", answer)])).answer);
}

/** Records that an edit of a message was handled, unless a later one was, and that the message is finished. */
export async function recordEdit(table: Table, event: EventId, edit: Words): Promise<void> {
  const { editedAt = 0 } = edit;
  const steps = [set("state", "done"), set("editedAt", editedAt), set("words", wordsDigest(edit))];
  const isLater = any(absent("editedAt"), atMost("editedAt", editedAt));
  await succeeds(table.update(receiptKey(event), steps, isLater));
}

/** Marks an event as finished, so that a redelivery is ignored. */
export async function closeReceipt(table: Table, event: EventId): Promise<void> {
  await table.update(receiptKey(event), [set("state", "done")]);
}

function receiptKey({ channel, accountId, eventId }: EventId): Key {
  return { pk: `RX#${channel}#${accountId}#${eventId}`, sk: "RECEIPT" };
}
