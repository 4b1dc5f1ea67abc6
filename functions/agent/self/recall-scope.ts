import type { Configuration } from "../../../shared/configuration/schema.ts";
import type { RecallScope } from "../../../shared/recall/visible-turns.ts";
import { keyRules } from "../../../shared/session/key/routing.ts";
import { clientKinds, sessionKind } from "../../../shared/session/key/session-key.ts";
import type { ToolCallContext } from "../tools/native/native-tool.ts";

/**
 * The conversations that a run may search and read: in the main session all of its agent, in a named one those of main and
 * named sessions, in every other one only its own, each including the time before its resets.
 */
export function recallScope(
  configuration: Configuration,
  { turn: { agentId, audience }, address: { sessionKey } }: Pick<ToolCallContext, "turn" | "address">,
): RecallScope {
  const rules = keyRules(configuration);
  const isOwn = (key: string) => clientKinds.includes(sessionKind(key, rules));
  const timezone = configuration.userTimezone;
  const scope = { agentId, sessionKey, timezone };
  if (audience === "main") return { ...scope, all: true };
  return audience === "own" && isOwn(sessionKey)
    ? { ...scope, all: true, sees: isOwn }
    : { ...scope, all: false };
}
