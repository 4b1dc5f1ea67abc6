import { randomUUID } from "node:crypto";
import { absent, all, any, below, equal, remove, set } from "../../world/expression.ts";
import { type Key, succeeds, type Table } from "../../world/world.ts";

/** TTL of a receipt, in seconds. */
const keptSeconds = 7 * 86_400;

/**
 * The clocks of two machines differ by less than this. A claim counts for so much longer than its holder was
 * granted. Milliseconds.
 */
const clockSkewMs = 5000;

/** One part of one delivery. */
export interface PartId {
  deliveryId: string;
  part: number;
}

/** The result of claiming a part. */
export type PartState =
  /**
   * The caller must send the part. `again`: an earlier claim expired, so that the part may already have been
   * sent.
   */
  | { state: "claimed"; claim: string; again: boolean }
  /** Another sender holds the claim. */
  | { state: "busy" }
  | { state: "sent" }
  | { state: "failed"; reason: string };

/**
 * Claims a part for sending until `until` (epoch ms), or returns its outcome. Of concurrent claims one
 * succeeds. An expired claim can be taken over; its holder may have sent the part and crashed before it
 * stored the outcome.
 */
export async function claimPart(table: Table, id: PartId, until: number, now: number): Promise<PartState> {
  const key = receiptKey(id);
  const claim = randomUUID();
  const seconds = Math.floor(now / 1000);
  const receipt = { state: "sending", claim, claimedUntil: until, expiresAt: seconds + keptSeconds };
  const isNew = any(absent("pk"), below("expiresAt", seconds));
  if (await succeeds(table.put({ ...key, ...receipt }, isNew)))
    return { state: "claimed", claim, again: false };
  const found = await table.get(key);
  if (!found) return { state: "busy" };
  // The SDK repeats a write whose response was lost. The condition then fails because of our own claim.
  if (found.claim === claim) return { state: "claimed", claim, again: false };
  if (found.state === "sent") return { state: "sent" };
  if (found.state === "failed") return { state: "failed", reason: String(found.reason) };
  if (Number(found.claimedUntil) + clockSkewMs >= now) return { state: "busy" };
  const steps = [set("claim", claim), set("claimedUntil", until)];
  const stale = all(equal("state", "sending"), equal("claim", String(found.claim)));
  if (await succeeds(table.update(key, steps, stale))) return { state: "claimed", claim, again: true };
  return { state: "busy" };
}

/** Extends a claim until `until` (epoch ms). False when another sender has taken it over. */
export async function extendClaim(table: Table, id: PartId, claim: string, until: number): Promise<boolean> {
  return succeeds(table.update(receiptKey(id), [set("claimedUntil", until)], equal("claim", claim)));
}

/** Stores the outcome even when the claim was taken over, because a sent part stays sent. */
export async function recordSent(table: Table, id: PartId, messageId?: string): Promise<void> {
  const sent = messageId === undefined ? [] : [set("messageId", messageId)];
  await table.update(receiptKey(id), [
    set("state", "sent"),
    ...sent,
    remove("claim"),
    remove("claimedUntil"),
  ]);
}

export async function recordFailed(table: Table, id: PartId, claim: string, reason: string): Promise<void> {
  const steps = [set("state", "failed"), set("reason", reason), remove("claim"), remove("claimedUntil")];
  await succeeds(table.update(receiptKey(id), steps, equal("claim", claim)));
}

function receiptKey({ deliveryId, part }: PartId): Key {
  return { pk: `TX#${deliveryId}`, sk: String(part).padStart(4, "0") };
}
