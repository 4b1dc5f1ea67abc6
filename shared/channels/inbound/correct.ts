import { refuseId } from "../../session/inbox.ts";
import { type Intake, submitEdit } from "../../session/intake.ts";
import type { Bucket } from "../../world/world.ts";
import type { ChannelAddress, InboundMessage } from "../channel.ts";
import { isUnchanged, type Receipt, recordEdit } from "./inbound-receipt.ts";
import { type Admitted, incomingOf } from "./incoming.ts";

/**
 * The edit of a message without a receipt comes before its message if it was sent within this time, because platforms redeliver
 * for at most a day. Else the message was not for the agent, or is older than the receipts. Milliseconds.
 */
const deliveredWithinMs = 86_400_000;

/**
 * What to do with a message or an edit. An edit that comes before its message is the message, whose own event is a duplicate
 * then. So is one that follows any other edit.
 * @param now epoch ms
 */
export function stepFor(
  message: InboundMessage,
  known: Receipt,
  now: number,
): "handle" | "correct" | "unchanged" | "duplicate" {
  const { editedAt, timestamp } = message;
  if (editedAt === undefined) return known.isDone || known.editedAt !== undefined ? "duplicate" : "handle";
  if (!known.isRepeated) return now - timestamp > deliveredWithinMs ? "unchanged" : "handle";
  if (known.editedAt === editedAt && !known.isDone) return "handle";
  if ((known.editedAt ?? 0) >= editedAt) return "duplicate";
  return isUnchanged(message, known) ? "unchanged" : "correct";
}

/** Submits the edit of a message whose event has a receipt. Safe to repeat. */
export async function correctMessage(
  inbound: Intake & { bucket?: Pick<Bucket, "put"> },
  address: ChannelAddress,
  message: InboundMessage,
  known: Receipt,
  admitted: Admitted,
): Promise<{ status: "corrected"; sessionKey: string; replaced: boolean }> {
  const { id, sessionKey } = admitted;
  const { editedAt: at = 0 } = message;
  // Another process may be about to append the message: then it is refused, and the edit takes its place.
  const isKnown = known.isDone || !(await refuseId(inbound.table, sessionKey, id, inbound.now()));
  const edit = await incomingOf(inbound, address, message, { ...admitted, id: `${id}:edit:${at}` });
  // An edit that takes the place of its message has the message's time.
  const { sentAt } = edit;
  const own = isKnown && sentAt !== undefined ? { sentAt: Math.max(sentAt, at) } : {};
  const { replaced } = await submitEdit(inbound, sessionKey, { ...edit, ...own }, { of: id, at }, isKnown);
  await recordEdit(inbound.table, { ...address, eventId: message.eventId }, message);
  return { status: "corrected", sessionKey, replaced };
}
