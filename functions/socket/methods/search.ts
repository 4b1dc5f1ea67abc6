import { sourceOf } from "../../../shared/recall/source.ts";
import { keyRules } from "../../../shared/session/key/routing.ts";
import { agentIdOf } from "../../../shared/session/key/session-key.ts";
import type { MethodTable } from "../gateway.ts";
import { canonicalKey } from "./chat.ts";
import { agentOf } from "./workspace.ts";

export const searchMethods: Pick<MethodTable, "session.search"> = {
  "session.search": {
    modes: ["client", "mcp"],
    async handle(gateway, { query, sessionKey: given, agentId: named, limit, maxChars }) {
      const sessionKey = given === undefined ? undefined : await canonicalKey(gateway, given);
      const agentId = sessionKey === undefined ? await agentOf(gateway, named) : agentIdOf(sessionKey);
      const [configuration, recall] = await Promise.all([gateway.configuration.load(), gateway.recall()]);
      const scope = {
        agentId,
        ...(sessionKey === undefined ? {} : { sessionKey }),
        all: sessionKey === undefined,
        timezone: configuration.userTimezone,
      };
      const { found, waiting } = await recall.search(scope, { question: query, limit, preview: maxChars });
      const rules = keyRules(configuration);
      const hits = found.map(({ turn, score, preview }) => ({
        sessionKey: turn.conversation.sessionKey,
        sessionId: turn.conversation.sessionId,
        message: turn.n,
        at: turn.ts,
        role: turn.role,
        source: sourceOf(turn.conversation.sessionKey, rules),
        text: preview.text,
        truncated: preview.truncated || turn.cut === true,
        score: Math.round(1000 * score) / 1000,
      }));
      return { agentId, hits, count: hits.length, waiting };
    },
  },
};
