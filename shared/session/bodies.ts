import { randomUUID } from "node:crypto";
import type { Bucket, Item, Table } from "../world/world.ts";

/** Where a session is kept: its items, and the bodies that are too large for an item. */
export interface SessionStore {
  table: Table;
  bucket: Pick<Bucket, "get" | "put" | "delete">;
}

/** A body above this lies in the bucket and leaves a reference: an item holds at most 400 KB. Bytes of UTF-8. */
const maxInlineBytes = 300_000;

/** Large bodies that are read at the same time. */
const readsAtOnce = 8;

/** How an item holds a body: as it is, or as the key of the object that it lies in. */
type StoredBody = { body: string } | { bodyKey: string; bodyBytes: number };

/** Stores a JSON text. Up to `maxInlineBytes` that is no call: the body is what the item will hold. */
export async function storeBody(
  bucket: SessionStore["bucket"],
  body: string,
  keyOf: () => string,
): Promise<StoredBody> {
  const bodyBytes = Buffer.byteLength(body);
  if (bodyBytes <= maxInlineBytes) return { body };
  const bodyKey = keyOf();
  await bucket.put(bodyKey, body, { contentType: "application/json" });
  return { bodyKey, bodyBytes };
}

/** The JSON texts that items hold, in their order; undefined for one that lay in the bucket and is not there any more. */
export async function readBodies(
  bucket: SessionStore["bucket"],
  items: readonly Item[],
): Promise<(string | undefined)[]> {
  const bodies = items.map((item) => (isInBucket(item) ? undefined : String(item.body)));
  const large = [...items.entries()].filter(([, item]) => isInBucket(item));
  while (large.length > 0) {
    const reads = large.splice(0, readsAtOnce).map(async ([i, item]) => {
      const object = await bucket.get(String(item.bodyKey));
      bodies[i] = object && Buffer.from(object.body).toString();
    });
    await Promise.all(reads);
  }
  return bodies;
}

function isInBucket(item: Item): boolean {
  return typeof item.bodyKey === "string";
}

/** Bytes of the body that an item holds. */
export function bodySize(item: Item): number {
  return isInBucket(item) ? Number(item.bodyBytes) : Buffer.byteLength(String(item.body));
}

/**
 * Removes the object of an item that has been deleted; nothing for an item that held its body itself. `deleted` is the
 * item as it was.
 */
export async function deleteBody(bucket: SessionStore["bucket"], deleted: Item | undefined): Promise<void> {
  if (deleted && isInBucket(deleted)) await bucket.delete(String(deleted.bodyKey));
}

/** A key for the body of a tool result. What lies under `payloads/` goes by itself, a day later. */
export function resultBodyKey(): string {
  return `payloads/results/${randomUUID()}.json`;
}
