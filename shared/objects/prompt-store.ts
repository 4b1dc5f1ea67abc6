import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import { type Bucket, PreconditionFailed } from "../world/world.ts";

/**
 * The texts of system prompts (docs/objects.md): the part that stays the same from call to call, under the SHA-256 of its
 * UTF-8, compressed with gzip. A text is written once and never changed.
 */
export function promptTextKey(agentId: string, hash: string): string {
  return `agents/${agentId}/objects/${hash}`;
}

export function isPromptTextKey(key: string): boolean {
  return /^agents\/[^/]+\/objects\/[0-9a-f]{64}$/.test(key);
}

/** Stores a prompt's text. One that is stored already is left alone. @param hash SHA-256 of the text, in hex */
export async function storePromptText(
  bucket: Bucket,
  agentId: string,
  { hash, text }: { hash: string; text: string },
): Promise<void> {
  const body = await promisify(gzip)(text);
  try {
    await bucket.put(promptTextKey(agentId, hash), body, { contentType: "application/gzip", ifAbsent: true });
  } catch (error) {
    if (!(error instanceof PreconditionFailed)) throw error;
  }
}

/** Reads a prompt's text. Undefined when it was not stored. */
export async function readPromptText(
  bucket: Bucket,
  agentId: string,
  hash: string,
): Promise<string | undefined> {
  const object = await bucket.get(promptTextKey(agentId, hash));
  return object && (await promisify(gunzip)(object.body)).toString("utf8");
}
