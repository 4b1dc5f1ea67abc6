import { cancelCapability, eventFrame } from "../protocol/frames.ts";
import { log, logError } from "../runtime/log.ts";
import type { Sockets } from "../world/world.ts";
import type { PeerRecord } from "./registry.ts";

/** A call that was sent to a node. `callId` is the id by which the node knows it. */
export interface SentCall {
  nodeId: string;
  callId: string;
}

/**
 * Tells nodes that nobody waits for these calls any more, so that they end what the calls have started. A node that is
 * away, or that did not announce the capability, is not told. Nothing here throws: what failed is logged.
 * @param nodes the connected nodes; read only when there are calls
 * @returns the ids of the calls of which their node was told
 */
export async function cancelCalls(
  { sockets }: { sockets: Sockets },
  nodes: () => Promise<readonly PeerRecord[]>,
  calls: readonly SentCall[],
): Promise<ReadonlySet<string>> {
  const told = new Set<string>();
  if (calls.length === 0) return told;
  const tell = async (connected: readonly PeerRecord[], { nodeId, callId }: SentCall) => {
    const node = connected.find(({ id }) => id === nodeId);
    if (!node?.capabilities?.includes(cancelCapability)) return;
    const outcome = await sockets.post(node.connectionId, eventFrame("tool.cancel", { callId }));
    log("tool.cancel", { nodeId, callId, outcome });
    if (outcome === "sent") told.add(callId);
  };
  try {
    const connected = await nodes();
    const ends = await Promise.allSettled(calls.map((call) => tell(connected, call)));
    for (const end of ends) if (end.status === "rejected") throw end.reason;
  } catch (error) {
    logError("tool.uncancelled", error, { calls: calls.length });
  }
  return told;
}
