import type { Memories, MemoryUse } from "../../../shared/memory/memories.ts";
import { joinOrigins } from "../../../shared/origins/origins.ts";
import { code, PeerError } from "../../../shared/protocol/errors.ts";
import type { Memory, MemoryType } from "../../../shared/protocol/memory-schemas.ts";
import { isVisible } from "../../../shared/workspace/privacy.ts";
import type { NativeOutcome, ToolCallContext } from "../tools/native/native-tool.ts";
import { countRecall } from "./count-recall.ts";
import { memoryOrigin } from "./memory-origin.ts";

/** The default limit of a recall. */
const usualLimit = 5;

/** The arguments of `gsv__memory`. `recall`, `supersedes`: names that earlier versions announced. */
export interface MemoryRequest {
  action: "recall" | "remember" | "correct" | "forget";
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
  const supersedes = args.action === "correct" ? required(args.id, "id") : args.supersedes;
  const origin = {
    ...(await memoryOrigin(context)),
    ...(args.type === undefined ? {} : { type: args.type }),
  };
  if (supersedes === undefined)
    return { ok: true, result: memoryResult(await memories.remember(use, content, origin)) };
  const { by, files } = await memories.supersede(use, supersedes, content, origin);
  return { ok: true, result: { ...memoryResult(by), supersedes, files } };
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
  return { ok: true, result, origins, inParallel: countRecall(context, 0, query, hits) };
}

/** A memory as the model sees it. */
function memoryResult({ id, text, places, record, ended }: Memory) {
  const from = record?.sessionKey === undefined ? {} : { session: record.sessionKey };
  const at = record === undefined ? {} : { at: new Date(record.at).toISOString() };
  return { id, text, file: places[0]?.path, ...from, ...at, ...(ended && { ended }) };
}

function required(value: string | undefined, name: string): string {
  if (value !== undefined) return value;
  throw new PeerError(code.badRequest, `${name}: this action needs it`);
}
