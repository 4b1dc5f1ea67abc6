import { randomUUID } from "node:crypto";
import { type NodeTool, nodeTools } from "../../../shared/peers/nodes.ts";
import { isConnected, listNodes, listPeers } from "../../../shared/peers/registry.ts";
import { code, PeerError } from "../../../shared/protocol/errors.ts";
import nativeDefinitions from "../../../shared/protocol/native-tools.json" with { type: "json" };
import type { CallOutcome } from "../../../shared/session/calls.ts";
import { putDeferred } from "../calls/deferred.ts";
import { acceptResult, askNode } from "../calls/node-calls.ts";
import { type Caller, deferred, type Gateway, type MethodTable } from "../gateway.ts";
import { checkNodeScope, checkProgramCall, mayUseNodes } from "../program-rights.ts";
import { canonicalKey } from "./chat.ts";

/** @throws PeerError 404 for a tool that no node offers, 503 for one of a node that is not connected */
async function findTool(gateway: Gateway, name: string): Promise<NodeTool> {
  const nodes = await listNodes(gateway.table, gateway.now());
  const tool = nodeTools(nodes.filter(isConnected)).get(name);
  if (tool) return tool;
  const left = nodeTools(nodes).get(name);
  if (left) {
    const message = `${left.node.id} is not connected, so ${left.bareName} was not called; try again when it is`;
    throw new PeerError(code.unavailable, message, { retryable: true });
  }
  if (nativeDefinitions.some((native) => native.name === name))
    throw new PeerError(
      code.notFound,
      `only the agent can call ${name}; a client can call the tools of nodes`,
    );
  throw new PeerError(code.notFound, `unknown tool: ${name}`);
}

/** Stores the deferred request, then sends the call to the node. */
async function callTool(
  gateway: Gateway,
  tool: NodeTool,
  args: Record<string, unknown>,
  request: { id: string; caller: Caller },
  asked: { kind: "tool" } | { kind: "request"; sessionKey: string; clientCallId: string },
): Promise<void> {
  const callId = randomUUID();
  await putDeferred(gateway, {
    callId,
    nodeId: tool.node.id,
    nodeConnectionId: tool.node.connectionId,
    connectionId: request.caller.connectionId,
    tokenId: request.caller.tokenId,
    requestId: request.id,
    tool: tool.definition.name,
    ...asked,
  });
  const call = { event: "tool.invoke", payload: { tool: tool.bareName, args } } as const;
  await askNode(gateway, tool.node, callId, call);
}

export const toolMethods: Pick<MethodTable, "tools.list" | "tool.invoke" | "tool.request" | "tool.result"> = {
  "tools.list": {
    modes: ["client", "node", "channel", "mcp"],
    async handle({ table, now }, _params, { caller }) {
      if (!mayUseNodes(caller)) return { tools: [] };
      const tools = [...nodeTools(await listPeers(table, "node", now())).values()];
      const native = caller.mode === "client" ? nativeDefinitions : [];
      return { tools: [...native, ...tools.map((tool) => tool.definition)] };
    },
  },
  "tool.invoke": {
    modes: ["client", "mcp"],
    async handle(gateway, { tool, args }, request) {
      checkNodeScope(request.caller);
      const found = await findTool(gateway, tool);
      await checkProgramCall(gateway, request.caller, found, args);
      await callTool(gateway, found, args, request, { kind: "tool" });
      return deferred;
    },
  },
  "tool.request": {
    modes: ["client"],
    async handle(gateway, { callId, tool, args, sessionKey }, request) {
      const key = await canonicalKey(gateway, sessionKey);
      const waiting = { kind: "request", sessionKey: key, clientCallId: callId } as const;
      await callTool(gateway, await findTool(gateway, tool), args, request, waiting);
      return { status: "sent" };
    },
  },
  "tool.result": {
    modes: ["node"],
    async handle(gateway, { callId, result, error }, { caller }) {
      const outcome: CallOutcome = error === undefined ? { result: result ?? null } : { error };
      return acceptResult(gateway, caller.peerId, callId, outcome);
    },
  },
};
