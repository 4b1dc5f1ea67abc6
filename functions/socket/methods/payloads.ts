import type { MethodTable } from "../gateway.ts";

export const payloadMethods: Pick<MethodTable, "payload.upload"> = {
  "payload.upload": {
    modes: ["client", "node", "channel"],
    handle: async ({ payloads }, { bytes, kind }, { caller }) =>
      payloads.reserve(caller.connectionId, bytes, kind),
  },
};
