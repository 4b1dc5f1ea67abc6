import { type NodeCall, nodeCallFrame } from "../../../shared/peers/node-call.ts";
import { forgetPeer, readPeer } from "../../../shared/peers/registry.ts";
import { maxFrameBytes } from "../../../shared/protocol/frames.ts";
import { log } from "../../../shared/runtime/log.ts";
import { type CallAddress, encodeCallAddress } from "../../../shared/session/call-address.ts";
import type { Agent } from "../agent.ts";

/** A call and the node that it is for. */
export type AddressedCall = NodeCall & { nodeId: string };

/**
 * Sends a call to its node. A repeat is harmless: nodes know a call id they have seen.
 * @returns undefined when it was sent, else the error that the model is told
 */
export async function dispatchCall(
  agent: Pick<Agent, "table" | "sockets" | "now">,
  address: CallAddress,
  call: AddressedCall,
): Promise<string | undefined> {
  const node = await readPeer(agent.table, "node", call.nodeId, agent.now());
  if (!node) return `Node not connected: ${call.nodeId}`;
  const callId = encodeCallAddress(address);
  const outcome = await agent.sockets.post(node.connectionId, nodeCallFrame(callId, call));
  const { sessionKey, runId } = address;
  log("tool.dispatch", { sessionKey, runId, callId: address.callId, nodeId: call.nodeId, outcome });
  switch (outcome) {
    case "sent":
      return undefined;
    case "gone":
      await forgetPeer(agent.table, node.connectionId);
      return `Node not connected: ${call.nodeId}`;
    case "busy":
      return `Node does not read what it is sent: ${call.nodeId}. Try again later`;
    case "too large":
      return `The arguments are too large to send to a node (limit ${maxFrameBytes} bytes)`;
  }
}
