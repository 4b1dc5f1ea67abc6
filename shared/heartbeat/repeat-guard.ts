import { createHash } from "node:crypto";
import { absent, any, atMost, equal } from "../world/expression.ts";
import { type Key, succeeds, type Table } from "../world/world.ts";

/** For this long an agent's heartbeat does not send the same text again, in milliseconds. */
const guardMs = 86_400_000;

/** A text that a beat wants to send. */
export interface ToSend {
  agentId: string;
  /** What is compared: the text, or a name for all texts that count as the same. */
  text: string;
  /** The run that sends it. */
  runId: string;
}

/**
 * Claims a text for sending. False when another run has claimed it within 24 hours. The same run may claim it
 * again: after a crash its delivery is repeated under the same id, and receipts skip what was sent.
 */
export async function claimText(table: Table, toSend: ToSend, now: number): Promise<boolean> {
  const { runId } = toSend;
  const claim = { runId, sentAt: now, expiresAt: Math.ceil((now + guardMs) / 1000) };
  const isFree = any(absent("pk"), atMost("sentAt", now - guardMs), equal("runId", runId));
  return succeeds(table.put({ ...keyOf(toSend), ...claim }, isFree));
}

/** Gives up the claim of a text that could not be sent, so that the next beat may try again. */
export async function releaseText(table: Table, toSend: ToSend): Promise<void> {
  await succeeds(table.delete(keyOf(toSend), equal("runId", toSend.runId)));
}

function keyOf({ agentId, text }: ToSend): Key {
  const digest = createHash("sha256").update(text).digest("hex");
  return { pk: `BEAT#${agentId}`, sk: digest.slice(0, 32) };
}
