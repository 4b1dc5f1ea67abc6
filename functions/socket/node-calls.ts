import { type NodeCall, nodeCallFrame } from "../../shared/peers/node-call.ts";
import type { PeerRecord } from "../../shared/peers/registry.ts";
import { code, PeerError } from "../../shared/protocol/errors.ts";
import type { Receipt } from "../../shared/protocol/results.ts";
import { log } from "../../shared/runtime/log.ts";
import { decodeCallAddress } from "../../shared/session/call-address.ts";
import { type CallOutcome, recordResult } from "../../shared/session/calls.ts";
import { needsAgent } from "../../shared/session/state.ts";
import { answerDeferred, dropDeferred, readDeferred } from "./deferred.ts";
import type { Gateway } from "./gateway.ts";
import { closeSocket } from "./lifecycle.ts";

/**
 * Sends a call to a node.
 * @throws PeerError 503 when it is gone, 413 when the call is too large; the waiting request is taken back
 * then
 */
export async function askNode(
  gateway: Gateway,
  node: PeerRecord,
  callId: string,
  call: NodeCall,
): Promise<void> {
  const outcome = await gateway.sockets.post(node.connectionId, nodeCallFrame(callId, call));
  if (outcome === "sent") return;
  await dropDeferred(gateway, node.id, callId);
  if (outcome === "too large") throw new PeerError(code.tooLarge, "args: too large for one frame");
  await closeSocket(gateway, node.connectionId);
  throw new PeerError(code.unavailable, `node disconnected: ${node.id}`, { retryable: true });
}

/**
 * Takes a node's answer to a call: of a session's run, or of a request that waits. What comes late, or twice,
 * changes nothing.
 * @throws PeerError 404 for a call that this node was not asked
 */
export async function acceptResult(
  gateway: Gateway,
  nodeId: string,
  callId: string,
  outcome: CallOutcome,
): Promise<Receipt> {
  const address = decodeCallAddress(callId);
  if (address) {
    const recorded = await recordResult(gateway, address, nodeId, outcome, gateway.now());
    const { sessionKey, runId } = address;
    log("tool.result", { sessionKey, runId, callId: address.callId, nodeId, status: recorded.status });
    if (recorded.status === "unknown") throw new PeerError(code.notFound, "unknown call");
    // Also for a repeat: whoever brought the last result may have died before it could wake the agent.
    if (needsAgent(recorded.state, gateway.now())) await gateway.wake(address.sessionKey);
    return recorded.status === "recorded" ? { ok: true } : { ok: true, dropped: true };
  }
  const waiting = await readDeferred(gateway, nodeId, callId);
  if (!waiting) throw new PeerError(code.notFound, "unknown call");
  await answerDeferred(gateway, waiting, outcome);
  // Only now: if it could not be answered, the node's repeat does it. A second answer is ignored by its id.
  await dropDeferred(gateway, nodeId, callId);
  return { ok: true };
}
