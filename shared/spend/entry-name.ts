import { createHash } from "node:crypto";

/**
 * The name of a session's entry in a day's item. Calls that a session makes without its lease, such as an extraction of
 * memories, have an entry of their own.
 */
export function entryName(sessionKey: string, hasLease: boolean): string {
  const text = hasLease ? sessionKey : `${sessionKey} without lease`;
  return createHash("sha256").update(text).digest("base64url").slice(0, 8);
}
