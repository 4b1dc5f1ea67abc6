import type { Memory } from "../protocol/memory/memory-schemas.ts";
import { rankTurns } from "../recall/ranking.ts";
import { createTurnIndex } from "../recall/turn-index.ts";

/** Memories that fit a question, the best first, by their words and by the day of the note that holds them. */
export function rankMemories(memories: readonly Memory[], question: string, timezone: string): Memory[] {
  const index = createTurnIndex(timezone);
  for (const [place, { id, text, record, places }] of memories.entries()) {
    // Each is a conversation of its own: its neighbours in the file say nothing about it.
    const turn = { n: place + 1, ts: record?.at ?? dayOf(places[0]?.path), role: "user", text } as const;
    index.add({ sessionKey: "", sessionId: id }, [turn]);
  }
  return rankTurns([index], question, memories.length).flatMap(({ turn }) => memories[turn.n - 1] ?? []);
}

/** Noon of the day of a note, epoch ms; 0 for MEMORY.md. */
function dayOf(path = ""): number {
  const [, date] = /(\d{4}-\d{2}-\d{2})\.md$/.exec(path) ?? [];
  return date === undefined ? 0 : Date.parse(`${date}T12:00:00Z`);
}
