import { conceptTags } from "../../../shared/dreaming/concept-tags.ts";
import { readDream } from "../../../shared/dreaming/dream-state.ts";
import { listRecalls, type RecallEvent } from "../../../shared/dreaming/recall-events.ts";
import type { Memories } from "../../../shared/memory/memories.ts";
import { liveSessionKeys } from "../../../shared/recall/visible-turns.ts";
import { readSession } from "../../../shared/session/sessions.ts";
import { messageCount } from "../../../shared/session/state.ts";
import { checkReadable } from "../../../shared/workspace/privacy.ts";
import { workspacePrefix } from "../../../shared/workspace/workspace-paths.ts";
import type { Agent } from "../agent.ts";
import type { ToolCallContext } from "../tools/native/native-tool.ts";

const weekMs = 7 * 86_400_000;

/** Max tags in an answer. */
const maxTags = 10;

/** Files that an agent is expected to have. */
const expectedFiles = ["IDENTITY.md", "SOUL.md", "USER.md", "AGENTS.md", "MEMORY.md", "DREAMS.md"];

/**
 * Figures about the agent: its conversations, memories and recalls.
 * @throws PeerError 403 if this conversation may not read MEMORY.md
 */
export async function myStats({ agent, turn: { agentId, audience } }: ToolCallContext) {
  checkReadable(audience, "MEMORY.md");
  const memories = await agent.memories();
  const [records, { last }, recalls, { files }, sessions] = await Promise.all([
    memories.ledger.all(agentId),
    readDream(agent.table, agentId),
    listRecalls(agent.table, agentId, agent.now() - weekMs),
    agent.workspace.list(agentId, ""),
    conversations(agent, agentId),
  ]);
  return {
    sessions_total: sessions,
    memories_stored: records.size,
    memories_promoted: [...records.values()].filter(({ promoted }) => promoted).length,
    last_dream_ts: last ? new Date(last.at).toISOString() : null,
    recall_events_7d: recalls.reduce((count, { hits }) => count + hits.length, 0),
    top_concept_tags_7d: await topTags(memories, agentId, recalls),
    workspace_files_present: expectedFiles.filter((name) => files.includes(name)),
  };
}

/** The number of archived and live conversations. */
async function conversations({ bucket, table }: Agent, agentId: string): Promise<number> {
  const [{ objects }, live] = await Promise.all([
    bucket.list(`${workspacePrefix(agentId)}sessions/`, "/"),
    liveSessionKeys(table, agentId),
  ]);
  const ids = objects.map(({ key }) => /([\w-]+?)(?:-part\d+)?\.jsonl\.gz$/.exec(key)?.[1]);
  const states = await Promise.all(live.map((key) => readSession(table, key)));
  const current = states.map((state) => (state && messageCount(state) > 0 ? state.sessionId : undefined));
  return new Set([...ids, ...current].filter((id) => id !== undefined)).size;
}

/** The most frequent tags of the recalled memories, with their counts. */
async function topTags(
  memories: Memories,
  agentId: string,
  recalls: readonly RecallEvent[],
): Promise<[string, number][]> {
  const hits = recalls.flatMap((recall) => recall.hits);
  const paths = [...new Set(hits.map(({ path }) => path))];
  const lines = await Promise.all(paths.map((path) => memories.files.read(agentId, path)));
  const texts = new Map(lines.flat().map(({ id, text }) => [id, text]));
  const counts = new Map<string, number>();
  for (const { memory } of hits)
    for (const tag of conceptTags(texts.get(memory) ?? "")) counts.set(tag, (counts.get(tag) ?? 0) + 1);
  const byCount = (a: [string, number], b: [string, number]) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1);
  return [...counts].sort(byCount).slice(0, maxTags);
}
