import { randomUUID } from "node:crypto";
import { absent, all, any, below, equal, remove, set } from "../../world/expression.ts";
import { type Key, succeeds, type Table } from "../../world/world.ts";

/** How long a receipt is kept, in seconds. */
const keptSeconds = 7 * 86_400;

/** One part of one delivery. */
export interface PartId {
  deliveryId: string;
  part: number;
}

/** What is known of a part before it is sent. */
export type PartState =
  /** It is the caller's to send. `again`: somebody began to send it and was not heard of since. */
  | { state: "claimed"; claim: string; again: boolean }
  /** Somebody else is sending it. */
  | { state: "busy" }
  | { state: "sent" }
  | { state: "failed"; reason: string };

/**
 * Claims a part for sending until `until` (epoch ms), or tells what has become of it. Of all that claim one
 * part at the same time, one gets it. A claim that has run out passes on: whoever held it may have sent the
 * part and not lived to write that down, which nobody can know.
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
  // The SDK repeats a write whose answer was lost, and the repeat meets what the first one wrote.
  if (found.claim === claim) return { state: "claimed", claim, again: false };
  if (found.state === "sent") return { state: "sent" };
  if (found.state === "failed") return { state: "failed", reason: String(found.reason) };
  if (Number(found.claimedUntil) >= now) return { state: "busy" };
  const steps = [set("claim", claim), set("claimedUntil", until)];
  const stale = all(equal("state", "sending"), equal("claim", String(found.claim)));
  if (await succeeds(table.update(key, steps, stale))) return { state: "claimed", claim, again: true };
  return { state: "busy" };
}

/** Keeps a claim until `until` (epoch ms). False when it has passed on. */
export async function extendClaim(table: Table, id: PartId, claim: string, until: number): Promise<boolean> {
  return succeeds(table.update(receiptKey(id), [set("claimedUntil", until)], equal("claim", claim)));
}

/** Written even where the claim has passed on: that the part was sent is true whoever sent it. */
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
