import { createHash } from "node:crypto";
import type { Requester } from "../protocol/approvals.ts";

/** The call, or the run, that waits for an answer. */
export interface Place {
  sessionKey: string;
  /** The conversation's id: an answer does not count after a reset. */
  sessionId: string;
  runId: string;
  step: number;
  callId: string;
}

/** What an answer to a request is about. A difference in any of it makes another request. */
type Binding = Place & (EqualCalls | { requester: Requester; at: number });

/** What equal calls have in common. */
export interface EqualCalls {
  agentId: string;
  tool: string;
  /** The node, the id of its token, and the hash of its tool's schema; absent for the gateway's own tools. */
  node?: { id: string; tokenId: string };
  schema: unknown;
  args: unknown;
}

/** SHA-256, in hex, of the canonical JSON of what a request is about. */
export function hashOf(bound: Binding | EqualCalls): string {
  return createHash("sha256")
    .update(canonicalJson({ v: 1, ...bound }))
    .digest("hex");
}

const alphabet = "abcdefghijklmnopqrstuvwxyz234567";

/** The id of a request: 80 bits of its hash. So the id names the contents. */
export function idOfHash(hash: string): string {
  const bits = BigInt(`0x${hash.slice(0, 20)}`);
  return Array.from({ length: 16 }, (_, i) => alphabet[Number((bits >> BigInt(75 - 5 * i)) & 31n)]).join("");
}

/** JSON with sorted names (RFC 8785 for the values that JSON.parse returns). */
function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((one) => canonicalJson(one)).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  const sorted = fields.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${sorted.map(([name, field]) => `${JSON.stringify(name)}:${canonicalJson(field)}`).join(",")}}`;
}
