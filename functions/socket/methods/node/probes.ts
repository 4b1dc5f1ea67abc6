import { acceptProbe } from "../../../../shared/skills/probing.ts";
import type { MethodTable } from "../../gateway.ts";

export const probeMethods: Pick<MethodTable, "node.probe.result"> = {
  "node.probe.result": {
    modes: ["node"],
    async handle(gateway, { probeId, ok, bins }, { caller }) {
      const isTaken = await acceptProbe(gateway, caller.peerId, probeId, { ok, bins });
      return isTaken ? { ok: true } : { ok: true, dropped: true };
    },
  },
};
