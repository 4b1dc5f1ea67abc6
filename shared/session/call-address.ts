import * as v from "valibot";
import type { Run } from "./run.ts";

/**
 * The address of a session's tool call. It includes the step, because a call id is not unique in a run: some
 * providers number the calls of every reply from 0.
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
 * The call id that is sent to a node. It contains the call's address, so that a result finds its session
 * without a lookup. The session then checks that the call was sent to this node.
 */
export function encodeCallAddress({ sessionKey, runId, step, callId }: CallAddress): string {
  return addressPrefix + Buffer.from(JSON.stringify([sessionKey, runId, step, callId])).toString("base64url");
}

/** Undefined for an id that `encodeCallAddress` did not create. */
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

/** The calls to nodes that a run waits for, with the call ids that the nodes received. */
export function sentCalls(
  sessionKey: string,
  { runId, step, pending }: Pick<Run, "runId" | "step" | "pending">,
): { nodeId: string; callId: string }[] {
  const ofNodes = Object.entries(pending).filter(
    ([, { asked, approval, remote }]) => !asked && !approval && !remote,
  );
  return ofNodes.map(([callId, { nodeId }]) => ({
    nodeId,
    callId: encodeCallAddress({ sessionKey, runId, step, callId }),
  }));
}
