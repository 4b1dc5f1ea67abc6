import type { MemoryOrigin } from "../../../shared/memory/memory-store.ts";
import { keyRules } from "../../../shared/session/key/routing.ts";
import { sessionKind } from "../../../shared/session/key/session-key.ts";
import { readSession } from "../../../shared/session/sessions.ts";
import { isMemoryPath, withoutLeadingSlash } from "../../../shared/workspace/workspace-paths.ts";
import type { ToolCallContext } from "../tools/native/native-tool.ts";

/** The origin of a memory that a tool call writes. */
export async function memoryOrigin({ agent, turn, address }: ToolCallContext): Promise<MemoryOrigin> {
  const { sessionKey } = address;
  const [session, configuration] = await Promise.all([
    readSession(agent.table, sessionKey),
    agent.configuration.load(),
  ]);
  return {
    sessionKey,
    ...(session === undefined ? {} : { sessionId: session.sessionId }),
    kind: sessionKind(sessionKey, keyRules(configuration)),
    origins: [...turn.origins],
    by: "agent",
  };
}

/**
 * Records the origin of the memories that a new content adds to a file. Call it before the file is written: a repeat after a
 * crash then records the same ones.
 */
export async function recordAdded(context: ToolCallContext, given: string, content: string): Promise<void> {
  const { agent, turn } = context;
  const path = withoutLeadingSlash(given);
  if (!isMemoryPath(path)) return;
  const memories = await agent.memories();
  const origin = await memoryOrigin(context);
  await memories.recordAdded(turn.agentId, path, content, { ...origin, at: agent.now() });
}
