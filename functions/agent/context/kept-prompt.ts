import { isReply, type Message } from "../../../shared/protocol/messages.ts";
import type { SessionState } from "../../../shared/session/state.ts";
import type { Agent } from "../agent.ts";
import { cachedMs } from "../model/cache-retention.ts";
import type { AssembledPrompt } from "./prompt.ts";

/**
 * The system prompt of a request. While the provider may still cache the last one, it stays as it was, because a change
 * invalidates the cache of the whole conversation: what has changed is said in the newest message (`message-tail.ts`). It is
 * assembled again when the cache has expired, after a compaction, and when its basis has changed.
 */
export async function keepPrompt(
  agent: Pick<Agent, "now" | "promptCache">,
  { compactedAt = 0 }: Pick<SessionState, "compactedAt">,
  { agentId, basis, prompt }: { agentId: string; basis: string; prompt: AssembledPrompt },
  messages: readonly Message[],
): Promise<AssembledPrompt> {
  const last = messages.findLast(isReply);
  if (last?.context.basis !== basis || last.timestamp <= compactedAt) return prompt;
  const { prompt: hash, cached = "short" } = last.context;
  if (agent.now() - last.timestamp >= cachedMs[cached]) return prompt;
  if (hash === prompt.hash) return prompt;
  const text = await agent.promptCache.read(agentId, hash);
  return text === undefined ? prompt : { text, hash };
}

/** The messages since the prompt with this hash was first sent: they may say what it does not. */
export function sinceFirstSent(messages: readonly Message[], hash: string): readonly Message[] {
  const other = messages.findLastIndex((message) => isReply(message) && message.context.prompt !== hash);
  return messages.slice(other + 1);
}
