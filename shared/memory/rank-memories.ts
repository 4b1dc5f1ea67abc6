import type { Memory } from "../protocol/memory-schemas.ts";
import { rankTurns } from "../recall/ranking.ts";
import { createTurnIndex } from "../recall/turn-index.ts";

/** Memories that fit a question, the best first, by their words and by the day of the note that holds them. */
export function rankMemories(memories: readonly Memory[], question: string, timezone: string): Memory[] {
  const index = createTurnIndex(timezone);
  for (const [place, { id, text, places }] of memories.entries()) {
    // Each is a conversation of its own: its neighbours in the file say nothing about it.
    const turn = { n: place + 1, ts: dayOf(places), role: "user", text } as const;
    index.add({ sessionKey: "", sessionId: id }, [turn]);
  }
  return rankTurns([index], question, memories.length).flatMap(({ turn }) => memories[turn.n - 1] ?? []);
}

/** Noon of the newest day whose note holds a memory, epoch ms; 0 when MEMORY.md alone does. */
function dayOf(places: Memory["places"]): number {
  const dates = places.map(({ path }) => /(\d{4}-\d{2}-\d{2})\.md$/.exec(path)?.[1]);
  const date = dates.find((one) => one !== undefined);
  return date === undefined ? 0 : Date.parse(`${date}T12:00:00Z`);
}
