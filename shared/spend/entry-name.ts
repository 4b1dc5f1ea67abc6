import { createHash } from "node:crypto";

/** A text's hash, so short that many of them fit into an item. */
export function hashOf(text: string, length: number): string {
  return createHash("sha256").update(text).digest("base64url").slice(0, length);
}

/**
 * The name of a session's entry in a day's item. Calls that a session makes without its lease, such as an extraction of
 * memories, have an entry of their own.
 */
export const entryName = (sessionKey: string, hasLease: boolean): string =>
  hashOf(hasLease ? sessionKey : `${sessionKey} without lease`, 8);
