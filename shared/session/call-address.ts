import * as v from "valibot";

/**
 * A session's tool call, as it is named towards a node. The step belongs to it: some servers count their calls from 0 in
 * every reply, and once a compaction has taken the first of them away, a later one has its id.
 */
export interface CallAddress {
  sessionKey: string;
  runId: string;
  step: number;
  callId: string;
}

const addressPrefix = "s.";
const addressSchema = v.strictTuple([v.string(), v.string(), v.number(), v.string()]);

/**
 * The call id that a node is given. It carries the session's address, so that a result finds its session without a
 * lookup; the session then checks that this very node was asked.
 */
export function encodeCallAddress({ sessionKey, runId, step, callId }: CallAddress): string {
  return addressPrefix + Buffer.from(JSON.stringify([sessionKey, runId, step, callId])).toString("base64url");
}

/** Undefined for anything that `encodeCallAddress` did not make. */
export function decodeCallAddress(wireId: string): CallAddress | undefined {
  if (!wireId.startsWith(addressPrefix)) return undefined;
  try {
    const parts: unknown = JSON.parse(
      Buffer.from(wireId.slice(addressPrefix.length), "base64url").toString(),
    );
    const address = v.safeParse(addressSchema, parts);
    if (!address.success) return undefined;
    const [sessionKey, runId, step, callId] = address.output;
    return { sessionKey, runId, step, callId };
  } catch {
    return undefined;
  }
}
