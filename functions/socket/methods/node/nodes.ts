import { noteAnswer } from "../../../../shared/peers/node-place.ts";
import { normalId, releaseId } from "../../../../shared/peers/peer-ids.ts";
import { listPeers } from "../../../../shared/peers/registry.ts";
import { code, PeerError } from "../../../../shared/protocol/errors.ts";
import { log } from "../../../../shared/runtime/log.ts";
import { dropNodeBins } from "../../../../shared/skills/node-bins.ts";
import { acceptExecEvent } from "../../calls/background-commands.ts";
import type { MethodTable } from "../../gateway.ts";
import { endSocket } from "../../socket-lifecycle.ts";

export const nodeMethods: Pick<MethodTable, "node.pong" | "node.forget" | "node.exec.event"> = {
  "node.pong": {
    modes: ["node"],
    async handle({ table, now }, _params, { caller }) {
      await noteAnswer(table, caller, now());
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
      const nodes = await listPeers(gateway.table, "node", gateway.now());
      const connected = nodes.filter(({ id }) => normalId(id) === normalId(nodeId));
      if (connected.length > 0 && !force) {
        const message = `the node ${nodeId} is connected; stop it, or repeat with force (\`gsv node forget ${nodeId} --force\`)`;
        throw new PeerError(code.conflict, message);
      }
      const removed = await releaseId(gateway.table, { mode: "node", id: nodeId });
      await dropNodeBins(gateway.table, nodeId);
      await Promise.all(connected.map(({ connectionId }) => endSocket(gateway, connectionId)));
      const disconnected = connected.length > 0;
      log("node.forgotten", { nodeId, removed, disconnected });
      return { ok: true, nodeId, removed, disconnected };
    },
  },
};
