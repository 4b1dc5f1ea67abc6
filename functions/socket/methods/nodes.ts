import { randomUUID } from "node:crypto";
import { recordPong } from "../../../shared/peers/node-place.ts";
import { chooseNode } from "../../../shared/peers/nodes.ts";
import { normalId, releaseId } from "../../../shared/peers/peer-ids.ts";
import { forgetNode, isConnected, listNodes, listPeers } from "../../../shared/peers/registry.ts";
import { code, PeerError } from "../../../shared/protocol/errors.ts";
import type { Results } from "../../../shared/protocol/results.ts";
import { log } from "../../../shared/runtime/log.ts";
import { dropNodeBins } from "../../../shared/skills/node-bins.ts";
import { acceptProbe } from "../../../shared/skills/probing.ts";
import { acceptExecEvent } from "../calls/background-commands.ts";
import { putDeferred } from "../calls/deferred.ts";
import { acceptResult, askNode } from "../calls/node-calls.ts";
import { deferred, type MethodTable } from "../gateway.ts";
import { endSocket } from "../socket-lifecycle.ts";

export const nodeMethods: Pick<MethodTable, "node.pong" | "node.forget" | "node.exec.event"> = {
  "node.pong": {
    modes: ["node"],
    async handle({ table, now }, _params, { caller }) {
      await recordPong(table, caller, now());
      return { ok: true };
    },
  },
  "node.exec.event": {
    modes: ["node"],
    handle: (gateway, event, { caller }) => acceptExecEvent(gateway, caller.peerId, event),
  },
  "node.forget": {
    modes: ["client"],
    scope: "admin",
    async handle(gateway, { nodeId, force }) {
      const nodes = await listNodes(gateway.table, gateway.now());
      const named = nodes.filter(({ id }) => normalId(id) === normalId(nodeId));
      const connected = named.filter(isConnected);
      if (connected.length > 0 && !force) {
        const message = `the node ${nodeId} is connected; stop it, or repeat with force (\`gsv node forget ${nodeId} --force\`)`;
        throw new PeerError(code.conflict, message);
      }
      const removed = await releaseId(gateway.table, { mode: "node", id: nodeId });
      await dropNodeBins(gateway.table, nodeId);
      await Promise.all(connected.map(({ connectionId }) => endSocket(gateway, connectionId)));
      for (const node of named) await forgetNode(gateway.table, node);
      const disconnected = connected.length > 0;
      log("node.forgotten", { nodeId, removed, disconnected });
      return { ok: true, nodeId, removed, disconnected };
    },
  },
};

export const probeMethods: Pick<MethodTable, "node.probe.result"> = {
  "node.probe.result": {
    modes: ["node"],
    async handle(gateway, { probeId, ok, bins }, { caller }) {
      const isAccepted = await acceptProbe(gateway, caller.peerId, probeId, { ok, bins });
      return isAccepted ? { ok: true } : { ok: true, dropped: true };
    },
  },
};

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
