import { randomUUID } from "node:crypto";
import { takeMessage } from "../../../shared/session/intake.ts";
import { canonicalizeSessionKey } from "../../../shared/session/key.ts";
import { keyRules } from "../../../shared/session/routing.ts";
import { deferred, type Gateway, type MethodTable } from "../gateway.ts";

/** The one form of a session key that the table knows, whatever form a peer wrote. */
export async function canonicalKey(
  gateway: Pick<Gateway, "configuration">,
  sessionKey: string,
): Promise<string> {
  return canonicalizeSessionKey(sessionKey, keyRules(await gateway.configuration.load()));
}

export const chatMethods: Pick<MethodTable, "chat.send"> = {
  "chat.send": {
    modes: ["client"],
    async handle(gateway, { sessionKey, message, runId = randomUUID() }, { id, caller }) {
      const origin = { kind: "client", connectionId: caller.connectionId, requestId: id } as const;
      const incoming = { id: runId, text: message, origin };
      const reply = await takeMessage(gateway, await canonicalKey(gateway, sessionKey), incoming);
      return reply.status === "deferred" ? deferred : reply;
    },
  },
};
