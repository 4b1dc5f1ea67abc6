import { randomUUID } from "node:crypto";
import type { Bucket, Item, Table } from "../world/world.ts";

/** The stores of a session: the table for its items, the bucket for bodies that are too large for an item. */
export interface SessionStore {
  table: Table;
  bucket: Pick<Bucket, "get" | "put" | "delete">;
}

/**
 * Largest body stored in an item, in bytes of UTF-8 (an item has at most 400 KB). Larger bodies go to the
 * bucket.
 */
const maxInlineBytes = 300_000;

/** Maximum number of large bodies read in parallel. */
const readsAtOnce = 8;

/** The body fields of an item: the body itself, or the key of the object that holds it. */
type StoredBody = { body: string } | { bodyKey: string; bodyBytes: number };

/**
 * Returns the item fields for a JSON text. Writes to the bucket only when the text is above `maxInlineBytes`.
 */
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

/**
 * The JSON texts of items, in the same order. Undefined for a text whose object has been deleted from the
 * bucket.
 */
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

/** The size of an item's body in bytes, wherever it is stored. */
export function bodySize(item: Item): number {
  return isInBucket(item) ? Number(item.bodyBytes) : Buffer.byteLength(String(item.body));
}

/**
 * Deletes the object that held the body of a deleted item, if there is one.
 * @param deleted the item before it was deleted
 */
export async function deleteBody(bucket: SessionStore["bucket"], deleted: Item | undefined): Promise<void> {
  if (deleted && isInBucket(deleted)) await bucket.delete(String(deleted.bodyKey));
}

/**
 * A new object key for a tool result's body. A lifecycle rule deletes objects under `payloads/` after a day.
 */
export function resultBodyKey(): string {
  return `payloads/results/${randomUUID()}.json`;
}
