import { dreamKinds } from "../../../shared/dreaming/choose-memories.ts";
import { dreamSettings, planDream } from "../../../shared/dreaming/plan-dream.ts";
import { recallEvent, recordRecall } from "../../../shared/dreaming/recall-events.ts";
import type { RecalledMemory } from "../../../shared/memory/memory-store.ts";
import { logError } from "../../../shared/runtime/log.ts";
import { keyRules } from "../../../shared/session/key/routing.ts";
import { sessionKind } from "../../../shared/session/key/session-key.ts";
import type { ToolCallContext } from "../tools/native/native-tool.ts";

/**
 * Counts a recall for dreaming, by its place among the questions of a call, and plans the next dream. Only for the owner's own conversations, and only if the agent
 * dreams. A failure is only logged.
 */
export async function countRecall(
  { agent, turn: { agentId, isPrivate }, address: { sessionKey, runId, step, callId } }: ToolCallContext,
  place: number,
  query: string,
  hits: readonly RecalledMemory[],
): Promise<void> {
  if (hits.length === 0 || isPrivate) return;
  try {
    const configuration = await agent.configuration.load();
    const isOwn = dreamKinds.includes(sessionKind(sessionKey, keyRules(configuration)));
    if (!isOwn || !dreamSettings(configuration, agentId).enabled) return;
    const now = agent.now();
    const call = `${runId}.${step}.${callId}`;
    const event = recallEvent(place === 0 ? call : `${call}.${place}`, query, now, hits);
    await Promise.all([
      recordRecall(agent.table, agentId, event),
      planDream(agent, agentId, configuration, now),
    ]);
  } catch (error) {
    logError("recall.uncounted", error, { agentId });
  }
}
