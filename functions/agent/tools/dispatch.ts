import { forgetPeer, readPeer } from "../../../shared/peers/registry.ts";
import { eventFrame, maxFrameBytes } from "../../../shared/protocol/frames.ts";
import { log } from "../../../shared/runtime/log.ts";
import { type CallAddress, encodeCallAddress } from "../../../shared/session/call-address.ts";
import type { Agent } from "../agent.ts";

/** A call for a node: the event it is sent, without the call's id. */
export interface NodeCall {
  nodeId: string;
  event: "tool.invoke" | "logs.get";
  payload: Record<string, unknown>;
}

/**
 * Sends a call to its node. A repeat is harmless: nodes know a call id they have seen.
 * @returns undefined when it was sent, else the error that the model is told
 */
export async function dispatchCall(
  agent: Pick<Agent, "table" | "sockets" | "now">,
  address: CallAddress,
  call: NodeCall,
): Promise<string | undefined> {
  const node = await readPeer(agent.table, "node", call.nodeId, agent.now());
  if (!node) return `Node not connected: ${call.nodeId}`;
  const callId = encodeCallAddress(address);
  const outcome = await agent.sockets.post(
    node.connectionId,
    eventFrame(call.event, { callId, ...call.payload }),
  );
  const { sessionKey, runId } = address;
  log("tool.dispatch", { sessionKey, runId, callId: address.callId, nodeId: call.nodeId, outcome });
  switch (outcome) {
    case "sent":
      return undefined;
    case "gone":
      await forgetPeer(agent.table, node.connectionId);
      return `Node not connected: ${call.nodeId}`;
    case "too large":
      return `The arguments are too large to send to a node (limit ${maxFrameBytes} bytes)`;
  }
}
