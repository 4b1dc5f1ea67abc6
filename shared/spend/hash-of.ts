import { createHash } from "node:crypto";

/** A text's hash, so short that many of them fit into an item. */
export function hashOf(text: string, length: number): string {
  return createHash("sha256").update(text).digest("base64url").slice(0, length);
}
