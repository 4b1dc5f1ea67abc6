import { cancelCapability, eventFrame } from "../protocol/frames.ts";
import { log, logError } from "../runtime/log.ts";
import type { Sockets } from "../world/world.ts";
import type { PeerRecord } from "./registry.ts";

/** A call that was sent to a node. `callId` is the id that the node received. */
export interface SentCall {
  nodeId: string;
  callId: string;
}

/**
 * Cancels calls at their nodes: the gateway no longer waits for them, and the nodes can end their work. Nodes that are not
 * connected, or did not announce the capability, are skipped. Nothing here throws: failures are logged.
 * @param nodes the connected nodes; read only when there are calls
 * @returns the ids of the calls whose node received the cancellation
 */
export async function cancelCalls(
  { sockets }: { sockets: Sockets },
  nodes: () => Promise<readonly PeerRecord[]>,
  calls: readonly SentCall[],
): Promise<ReadonlySet<string>> {
  const cancelled = new Set<string>();
  if (calls.length === 0) return cancelled;
  const cancel = async (connected: readonly PeerRecord[], { nodeId, callId }: SentCall) => {
    const node = connected.find(({ id }) => id === nodeId);
    if (!node?.capabilities?.includes(cancelCapability)) return;
    const outcome = await sockets.post(node.connectionId, eventFrame("tool.cancel", { callId }));
    log("tool.cancel", { nodeId, callId, outcome });
    if (outcome === "sent") cancelled.add(callId);
  };
  try {
    const connected = await nodes();
    const results = await Promise.allSettled(calls.map((call) => cancel(connected, call)));
    for (const result of results) if (result.status === "rejected") throw result.reason;
  } catch (error) {
    logError("tool.uncancelled", error, { calls: calls.length });
  }
  return cancelled;
}
