import { dreamKinds } from "../../../shared/dreaming/choose-memories.ts";
import { dreamSettings } from "../../../shared/dreaming/dream-settings.ts";
import { planDream } from "../../../shared/dreaming/plan-dream.ts";
import { recallEvent, recordRecall } from "../../../shared/dreaming/recall-events.ts";
import type { Memories, MemoryUse } from "../../../shared/memory/memories.ts";
import type { RecalledMemory } from "../../../shared/memory/memory-store.ts";
import { joinOrigins } from "../../../shared/origins/origins.ts";
import { code, PeerError } from "../../../shared/protocol/errors.ts";
import type { Memory, MemoryType } from "../../../shared/protocol/memory-schemas.ts";
import { logError } from "../../../shared/runtime/log.ts";
import { keyRules } from "../../../shared/session/key/routing.ts";
import { sessionKind } from "../../../shared/session/key/session-key.ts";
import { isVisible } from "../../../shared/workspace/privacy.ts";
import type { NativeOutcome, ToolCallContext } from "../tools/native/native-tool.ts";
import { memoryOrigin } from "./memory-origin.ts";

/** The default limit of a recall. */
const usualLimit = 5;

/** The arguments of `gsv__memory`. */
export interface MemoryRequest {
  action: "recall" | "remember" | "forget";
  query?: string | undefined;
  content?: string | undefined;
  id?: string | undefined;
  type?: MemoryType | undefined;
  supersedes?: string | undefined;
  limit?: number | undefined;
}

/** Answers `gsv__memory`. @throws PeerError for an error that the model can fix */
export async function useMemory(args: MemoryRequest, context: ToolCallContext): Promise<NativeOutcome> {
  const { agent, turn } = context;
  if (!isVisible(turn.audience, "memory"))
    return { ok: false, error: "Memories are private, and several people read this conversation." };
  const [memories, { userTimezone: timezone }] = await Promise.all([
    agent.memories(),
    agent.configuration.load(),
  ]);
  const use = { agentId: turn.agentId, audience: turn.audience, now: agent.now(), timezone };
  if (args.action === "recall") return recall(args, memories, use, context);
  if (args.action === "forget") {
    const id = required(args.id, "id");
    return { ok: true, result: { id, files: await memories.forget(use, id) } };
  }
  const content = required(args.content, "content");
  const origin = {
    ...(await memoryOrigin(context)),
    ...(args.type === undefined ? {} : { type: args.type }),
  };
  if (args.supersedes === undefined)
    return { ok: true, result: memoryResult(await memories.remember(use, content, origin)) };
  const { by, files } = await memories.supersede(use, args.supersedes, content, origin);
  return { ok: true, result: { ...memoryResult(by), supersedes: args.supersedes, files } };
}

async function recall(
  { query = "", limit = usualLimit }: MemoryRequest,
  memories: Memories,
  use: MemoryUse,
  context: ToolCallContext,
): Promise<NativeOutcome> {
  const found = await memories.recall(use, query, limit);
  const result = { memories: found.map(memoryResult), count: found.length };
  const hits = found.filter(({ isHit }) => isHit);
  const origins = joinOrigins(...found.map((memory) => memory.origins));
  return { ok: true, result, origins, inParallel: countRecall(context, query, hits) };
}

/**
 * Counts a recall for dreaming, and plans the next dream. Only for the owner's own conversations, and only if the agent
 * dreams. A failure is only logged.
 */
async function countRecall(
  { agent, turn: { agentId, isPrivate }, address: { sessionKey, runId, step, callId } }: ToolCallContext,
  query: string,
  hits: readonly RecalledMemory[],
): Promise<void> {
  if (hits.length === 0 || isPrivate) return;
  try {
    const configuration = await agent.configuration.load();
    const isOwn = dreamKinds.includes(sessionKind(sessionKey, keyRules(configuration)));
    if (!isOwn || !dreamSettings(configuration, agentId).enabled) return;
    const now = agent.now();
    const event = recallEvent(`${runId}.${step}.${callId}`, query, now, hits);
    await Promise.all([
      recordRecall(agent.table, agentId, event),
      planDream(agent, agentId, configuration, now),
    ]);
  } catch (error) {
    logError("recall.uncounted", error, { agentId });
  }
}

/** A memory as the model sees it. */
function memoryResult({ id, text, places, record }: Memory) {
  const from = record?.sessionKey === undefined ? {} : { session: record.sessionKey };
  const at = record === undefined ? {} : { at: new Date(record.at).toISOString() };
  return { id, text, file: places[0]?.path, ...from, ...at };
}

function required(value: string | undefined, name: string): string {
  if (value !== undefined) return value;
  throw new PeerError(code.badRequest, `${name}: this action needs it`);
}
