import { randomUUID } from "node:crypto";
import { chooseNode } from "../../../shared/peers/node-choice.ts";
import { listPeers } from "../../../shared/peers/registry.ts";
import type { CallOutcome } from "../../../shared/session/calls.ts";
import { putDeferred } from "../deferred.ts";
import { deferred, type MethodTable } from "../gateway.ts";
import { acceptResult, askNode } from "../node-calls.ts";

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
        requestId: id,
        kind: "logs",
      });
      await askNode(gateway, node, callId, "logs.get", { lines });
      return deferred;
    },
  },
  "logs.result": {
    modes: ["node"],
    async handle(gateway, { callId, lines, truncated, error }, { caller }) {
      const nodeId = caller.peerId;
      const outcome: CallOutcome =
        error === undefined ? { result: { nodeId, lines, count: lines.length, truncated } } : { error };
      return acceptResult(gateway, nodeId, callId, outcome);
    },
  },
};
