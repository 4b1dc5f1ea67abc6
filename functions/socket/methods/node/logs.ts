import { randomUUID } from "node:crypto";
import { chooseNode } from "../../../../shared/peers/nodes.ts";
import { listPeers } from "../../../../shared/peers/registry.ts";
import type { Results } from "../../../../shared/protocol/results.ts";
import { putDeferred } from "../../calls/deferred.ts";
import { acceptResult, askNode } from "../../calls/node-calls.ts";
import { deferred, type MethodTable } from "../../gateway.ts";

export const logMethods: Pick<MethodTable, "logs.get" | "logs.result"> = {
  "logs.get": {
    modes: ["client"],
    async handle(gateway, { nodeId, lines }, { id, caller }) {
      const node = chooseNode(await listPeers(gateway.table, "node", gateway.now()), nodeId);
      const callId = randomUUID();
      await putDeferred(gateway, {
        callId,
        nodeId: node.id,
        nodeConnectionId: node.connectionId,
        connectionId: caller.connectionId,
        tokenId: caller.tokenId,
        requestId: id,
        kind: "logs",
      });
      await askNode(gateway, node, callId, { event: "logs.get", payload: { lines } });
      return deferred;
    },
  },
  "logs.result": {
    modes: ["node"],
    async handle(gateway, { callId, lines, truncated, error }, { caller }) {
      const nodeId = caller.peerId;
      const result: Results["logs.get"] = { nodeId, lines, count: lines.length, truncated };
      return acceptResult(gateway, nodeId, callId, error === undefined ? { result } : { error });
    },
  },
};
