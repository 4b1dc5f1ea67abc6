import { gunzipSync, gzipSync } from "node:zlib";
import { type Bucket, PreconditionFailed } from "../world/world.ts";

/**
 * Texts of objects that messages do not contain (docs/objects.md), such as system prompts: each under the SHA-256 of its
 * UTF-8, compressed with gzip. A text is written once and never changed.
 */
export function textKey(agentId: string, hash: string): string {
  return `agents/${agentId}/objects/${hash}`;
}

export function isTextKey(key: string): boolean {
  return /^agents\/[^/]+\/objects\/[0-9a-f]{64}$/.test(key);
}

/** Stores a text unless it is stored already. @param hash SHA-256 of the text, in hex */
export async function storeText(
  bucket: Bucket,
  agentId: string,
  { hash, text }: { hash: string; text: string },
): Promise<void> {
  const body = gzipSync(text);
  try {
    await bucket.put(textKey(agentId, hash), body, { contentType: "application/gzip", ifAbsent: true });
  } catch (error) {
    if (!(error instanceof PreconditionFailed)) throw error;
  }
}

/** Reads a text. Undefined if it was not stored. */
export async function readText(bucket: Bucket, agentId: string, hash: string): Promise<string | undefined> {
  const object = await bucket.get(textKey(agentId, hash));
  return object && gunzipSync(object.body).toString("utf8");
}
