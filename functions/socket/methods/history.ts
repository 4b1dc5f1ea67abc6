import { countChange } from "../../../shared/recall/changes.ts";
import { agentIdOf } from "../../../shared/session/key/session-key.ts";
import { readPrevious } from "../../../shared/session/previous-ids.ts";
import { readSession } from "../../../shared/session/sessions.ts";
import type { Gateway, MethodTable } from "../gateway.ts";
import { readTranscriptPage } from "../transcript-page.ts";
import { canonicalKey } from "./chat.ts";
import { agentOf } from "./workspace.ts";

export const historyMethods: Pick<
  MethodTable,
  "session.history" | "session.transcript" | "session.delete" | "session.fork"
> = {
  "session.fork": {
    modes: ["client"],
    async handle(gateway, { sessionKey, seq, forkId }) {
      const fork = { sessionKey: await canonicalKey(gateway, sessionKey), forkId };
      const { forkSession } = await import("../../../shared/session/fork-session.ts");
      return forkSession(gateway, { ...fork, ...(seq === undefined ? {} : { seq }) });
    },
  },
  "session.delete": {
    modes: ["client"],
    async handle(gateway, { sessionId, ...params }) {
      const sessionKey = await canonicalKey(gateway, params.sessionKey);
      const { deleteConversation, deleteSession } = await import("../session-deletion.ts");
      const deleted =
        sessionId === undefined
          ? await deleteSession(gateway, sessionKey)
          : await deleteConversation(gateway, sessionKey, sessionId);
      await countChange(gateway.table, agentIdOf(sessionKey));
      return { ok: true, sessionKey, ...deleted };
    },
  },
  "session.history": {
    modes: ["client"],
    async handle(gateway, params) {
      const sessionKey = await canonicalKey(gateway, params.sessionKey);
      const state = await readSession(gateway.table, sessionKey);
      const { sessionId: currentSessionId = "" } = state ?? {};
      const previous = state ? await readPrevious(gateway.table, state) : [];
      const previousSessionIds = previous.map(({ sessionId }) => sessionId);
      return { sessionKey, currentSessionId, previousSessionIds, previous };
    },
  },
  "session.transcript": {
    modes: ["client"],
    async handle(gateway, { sessionKey, agentId, ...request }) {
      const owner = await conversationOwner(gateway, { sessionKey, agentId });
      return readTranscriptPage(gateway, { ...request, ...owner });
    },
  },
};

/** The agent and the canonical session key of a request for a conversation. Without both it is the default agent. */
export async function conversationOwner(
  gateway: Gateway,
  { sessionKey, agentId }: { sessionKey?: string; agentId?: string },
): Promise<{ agentId: string; sessionKey?: string }> {
  if (sessionKey === undefined) return { agentId: await agentOf(gateway, agentId) };
  const key = await canonicalKey(gateway, sessionKey);
  return { agentId: await agentOf(gateway, agentId ?? agentIdOf(key)), sessionKey: key };
}
