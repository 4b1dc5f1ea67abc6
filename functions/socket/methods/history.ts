import { agentIdOf } from "../../../shared/session/key/session-key.ts";
import { readSession } from "../../../shared/session/sessions.ts";
import type { MethodTable } from "../gateway.ts";
import { readTranscriptPage } from "../transcript-page.ts";
import { canonicalKey } from "./chat.ts";
import { agentOf } from "./workspace.ts";

export const historyMethods: Pick<MethodTable, "session.history" | "session.transcript"> = {
  "session.history": {
    modes: ["client"],
    async handle(gateway, params) {
      const sessionKey = await canonicalKey(gateway, params.sessionKey);
      const state = await readSession(gateway.table, sessionKey);
      const { sessionId: currentSessionId = "", previousSessionIds = [] } = state ?? {};
      return { sessionKey, currentSessionId, previousSessionIds };
    },
  },
  "session.transcript": {
    modes: ["client"],
    async handle(gateway, { sessionKey, agentId, ...request }) {
      const key = sessionKey === undefined ? undefined : await canonicalKey(gateway, sessionKey);
      const ofKey = key === undefined ? undefined : agentIdOf(key);
      const agent = await agentOf(gateway, agentId ?? ofKey);
      return readTranscriptPage(gateway, { ...request, agentId: agent, sessionKey: key });
    },
  },
};
