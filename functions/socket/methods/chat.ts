import { randomUUID } from "node:crypto";
import { takeMessage } from "../../../shared/session/intake.ts";
import { canonicalizeSessionKey } from "../../../shared/session/key.ts";
import { decodeMedia, storeMedia } from "../../../shared/session/media.ts";
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
    async handle(gateway, { sessionKey, message, media, runId = randomUUID() }, { id, caller }) {
      const key = await canonicalKey(gateway, sessionKey);
      const bodies = media.map(({ data, ...attachment }) => ({ ...attachment, body: decodeMedia(data) }));
      const stored = bodies.map((one, index) => {
        const target = { sessionKey: key, id: JSON.stringify([runId, index]), now: gateway.now() };
        return storeMedia(gateway.bucket, target, one);
      });
      const origin = { kind: "client", connectionId: caller.connectionId, requestId: id } as const;
      const incoming = { id: runId, text: message, media: await Promise.all(stored), origin };
      const reply = await takeMessage(gateway, key, incoming);
      return reply.status === "deferred" ? deferred : reply;
    },
  },
};
