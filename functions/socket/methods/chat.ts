import { randomUUID } from "node:crypto";
import { decodeMedia, type MediaTarget, storeMedia } from "../../../shared/media/media-store.ts";
import type { StoredMedia } from "../../../shared/protocol/messages.ts";
import type { Params } from "../../../shared/protocol/methods.ts";
import type { RunOutcome } from "../../../shared/protocol/session-results.ts";
import type { Origin } from "../../../shared/session/inbox-entry.ts";
import { submitMessage } from "../../../shared/session/intake.ts";
import { readKeptAnswer } from "../../../shared/session/kept-answer.ts";
import { keyRules } from "../../../shared/session/key/routing.ts";
import { canonicalizeSessionKey } from "../../../shared/session/key/session-key.ts";
import { readSession } from "../../../shared/session/sessions.ts";
import { type Caller, deferred, type Gateway, type MethodTable } from "../gateway.ts";
import { sessionOf, writerOf } from "../program-rights.ts";

/** The canonical form of a session key given by a peer. */
export async function canonicalKey(
  gateway: Pick<Gateway, "configuration">,
  sessionKey: string,
): Promise<string> {
  return canonicalizeSessionKey(sessionKey, keyRules(await gateway.configuration.load()));
}

/**
 * Stores attachments one at a time, because each may have 25 MB. Invalid base64 is refused before anything is stored.
 * @throws PeerError 400, 404 or 413
 */
async function storeAttachments(
  { bucket, payloads }: Gateway,
  connectionId: string,
  target: MediaTarget,
  media: Params<"chat.send">["media"],
): Promise<StoredMedia[]> {
  const inline = media.map(({ data }) => (data === undefined ? undefined : decodeMedia(data)));
  const stored: StoredMedia[] = [];
  for (const [index, { data: _, dataRef = "", ...attachment }] of media.entries()) {
    const body = inline[index] ?? (await payloads.takeMedia(connectionId, dataRef));
    const id = JSON.stringify([target.id, index]);
    stored.push(await storeMedia(bucket, { ...target, id }, { ...attachment, body }));
  }
  return stored;
}

/** The origin of a client's request that is answered later. */
export function clientOrigin({ connectionId, tokenId }: Caller, requestId: string): Origin {
  return { kind: "client", connectionId, requestId, tokenId };
}

/** A run's outcome: its kept answer, else the session's state. */
async function outcomeOf(
  { table }: Pick<Gateway, "table">,
  sessionKey: string,
  runId: string,
): Promise<RunOutcome> {
  const before = await readKeptAnswer(table, sessionKey, runId);
  if (before) return before;
  const state = await readSession(table, sessionKey);
  if (state?.run?.runId === runId) return { status: "working" };
  if (state?.inbox.some(({ id }) => id === runId)) return { status: "waiting" };
  // The run may have ended between the two reads.
  return (await readKeptAnswer(table, sessionKey, runId)) ?? { status: "unknown" };
}

export const chatMethods: Pick<MethodTable, "chat.send" | "chat.result"> = {
  "chat.send": {
    modes: ["client", "mcp"],
    async handle(gateway, params, { id, caller }) {
      const { sessionKey, message, media, runId = randomUUID(), keepAnswer: keepsAnswer } = params;
      const key = await sessionOf(gateway, caller, sessionKey);
      const target = { sessionKey: key, id: runId, now: gateway.now() };
      const stored = await storeAttachments(gateway, caller.connectionId, target, media);
      const origin = clientOrigin(caller, id);
      // `sessionOf` has read the configuration since the request arrived.
      const configurationVersion = gateway.configuration.version();
      const text = { text: message, media: stored, keepsAnswer };
      const incoming = { id: runId, ...text, origin, ...writerOf(caller), configurationVersion };
      const reply = await submitMessage(gateway, key, incoming);
      return reply.status === "deferred" ? deferred : reply;
    },
  },
  "chat.result": {
    modes: ["client", "mcp"],
    async handle(gateway, { sessionKey, runId }, { caller }) {
      const key = await sessionOf(gateway, caller, sessionKey);
      return { runId, ...(await outcomeOf(gateway, key, runId)) };
    },
  },
};
