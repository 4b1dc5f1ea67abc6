import { parseImport } from "../../../shared/adapters/import-lines.ts";
import { code, PeerError } from "../../../shared/protocol/errors.ts";
import { importConversation } from "../../../shared/session/import-conversation.ts";
import { keyRules } from "../../../shared/session/key/routing.ts";
import { agentIdOf, clientKinds, sessionKind } from "../../../shared/session/key/session-key.ts";
import { readPreviousIds } from "../../../shared/session/previous-ids.ts";
import { readSession } from "../../../shared/session/sessions.ts";
import { readExportPage } from "../export-page.ts";
import type { Gateway, MethodTable } from "../gateway.ts";
import { readTranscriptPage } from "../transcript-page.ts";
import { canonicalKey } from "./chat.ts";
import { agentOf } from "./workspace.ts";

export const historyMethods: Pick<
  MethodTable,
  "session.history" | "session.transcript" | "session.export" | "session.import"
> = {
  "session.history": {
    modes: ["client"],
    async handle(gateway, params) {
      const sessionKey = await canonicalKey(gateway, params.sessionKey);
      const state = await readSession(gateway.table, sessionKey);
      const { sessionId: currentSessionId = "" } = state ?? {};
      const previousSessionIds = state ? await readPreviousIds(gateway.table, state) : [];
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
  "session.export": {
    modes: ["client"],
    async handle(gateway, { sessionKey, agentId, sessionId: wanted, ...request }) {
      const key = sessionKey === undefined ? undefined : await canonicalKey(gateway, sessionKey);
      const ofKey = key === undefined ? undefined : agentIdOf(key);
      const agent = await agentOf(gateway, agentId ?? ofKey);
      const sessionId = wanted ?? (await currentConversation(gateway, key));
      return readExportPage(gateway, { ...request, sessionId, agentId: agent, sessionKey: key });
    },
  },
  "session.import": {
    modes: ["client"],
    async handle(gateway, { sessionKey: given, importId: sessionId, format, lines }) {
      const sessionKey = await canonicalKey(gateway, given);
      const kind = sessionKind(sessionKey, keyRules(await gateway.configuration.load()));
      if (!clientKinds.includes(kind))
        throw new PeerError(
          code.badRequest,
          `sessionKey: ${sessionKey} is a conversation with others; import into one that your clients alone use, such as agent:main:imported`,
        );
      const messages = parseImport(lines, format);
      await importConversation(gateway, { sessionKey, sessionId, messages });
      return { ok: true, sessionKey, sessionId, messages: messages.length };
    },
  },
};

/** @throws PeerError 400 without a session, 404 when nothing was said in it */
async function currentConversation({ table }: Gateway, sessionKey: string | undefined): Promise<string> {
  if (sessionKey === undefined)
    throw new PeerError(code.badRequest, "sessionId: name a conversation, or a session by sessionKey");
  const state = await readSession(table, sessionKey);
  if (!state) throw new PeerError(code.notFound, `sessionKey: nothing was said in ${sessionKey} yet`);
  return state.sessionId;
}
