import { usualType } from "./ledger.ts";
import { readMemories, withoutMemory } from "./memory-line.ts";
import type { MemoryStore } from "./use-memories.ts";

/** Most memories of one extraction whose origin is noted. */
const mostNoted = 50;

/** Where memories were extracted. */
export interface ExtractedFrom {
  sessionKey: string;
  sessionId: string;
  /** The kind of the session. */
  kind: string;
  /** Epoch ms. */
  at: number;
}

/** What was extracted of a conversation, without what was forgotten. */
export async function withoutForgotten(
  { ledger }: MemoryStore,
  agentId: string,
  text: string,
): Promise<string> {
  const isForgotten = await ledger.forgotten(agentId);
  const gone = readMemories("", text).filter((memory) => isForgotten(memory.text));
  return gone.reduce((rest, { id }) => withoutMemory(rest, id), text);
}

/** Notes where the memories of an extraction came from. A repeat changes nothing. */
export async function keepExtracted(
  { ledger }: MemoryStore,
  agentId: string,
  text: string,
  from: ExtractedFrom,
): Promise<void> {
  const memories = readMemories("", text).slice(0, mostNoted);
  await Promise.all(
    memories.map(({ id }) => ledger.note(agentId, { id, ...from, by: "extraction", type: usualType })),
  );
}
