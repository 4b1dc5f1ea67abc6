import type { Memories, MemoryUse } from "../../../shared/memory/open-memories.ts";
import { code, PeerError } from "../../../shared/protocol/errors.ts";
import type { Memory, MemoryType } from "../../../shared/protocol/memory/memory-schemas.ts";
import { keyRules } from "../../../shared/session/key/routing.ts";
import { sessionKind } from "../../../shared/session/key/session-key.ts";
import { readSession } from "../../../shared/session/sessions.ts";
import { isVisible } from "../../../shared/workspace/privacy.ts";
import type { NativeOutcome, ToolCallContext } from "../tools/native/native-tool.ts";

/** Memories that a recall gives without a limit. */
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

/** Answers `gsv__memory`. @throws PeerError for what the model can mend */
export async function useMemory(args: MemoryRequest, context: ToolCallContext): Promise<NativeOutcome> {
  const { agent, turn, address } = context;
  if (!isVisible(turn.audience, "memory"))
    return { ok: false, error: "Memories are private; several people read this conversation." };
  const [memories, { userTimezone: timezone }] = await Promise.all([
    agent.memories(),
    agent.configuration.load(),
  ]);
  const use = { agentId: turn.agentId, audience: turn.audience, now: agent.now(), timezone };
  if (args.action === "recall") return recall(args, memories, use, context);
  if (args.action === "forget") {
    const id = needed(args.id, "id");
    return { ok: true, result: { id, files: await memories.forget(use, id) } };
  }
  const content = needed(args.content, "content");
  const { sessionId } = (await readSession(agent.table, address.sessionKey)) ?? {};
  const kind = sessionKind(address.sessionKey, keyRules(await agent.configuration.load()));
  const said = { sessionKey: address.sessionKey, ...(sessionId === undefined ? {} : { sessionId }), kind };
  const origin = { ...said, by: "agent", ...(args.type === undefined ? {} : { type: args.type }) } as const;
  if (args.supersedes === undefined)
    return { ok: true, result: shown(await memories.remember(use, content, origin)) };
  const { by, files } = await memories.supersede(use, args.supersedes, content, origin);
  return { ok: true, result: { ...shown(by), supersedes: args.supersedes, files } };
}

async function recall(
  { query = "", limit = usualLimit }: MemoryRequest,
  memories: Memories,
  use: MemoryUse,
  _context: ToolCallContext,
): Promise<NativeOutcome> {
  const found = await memories.recall(use, query, limit);
  return { ok: true, result: { memories: found.map(shown), count: found.length } };
}

/** A memory as the model is shown it. */
function shown({ id, text, places, record }: Memory) {
  const from = record?.sessionKey === undefined ? {} : { session: record.sessionKey };
  const at = record === undefined ? {} : { at: new Date(record.at).toISOString() };
  return { id, text, file: places[0]?.path, ...from, ...at };
}

function needed(value: string | undefined, name: string): string {
  if (value !== undefined) return value;
  throw new PeerError(code.badRequest, `${name}: is needed for this action`);
}
