import type { Memory } from "../protocol/memory-schemas.ts";
import type { Item, Table } from "../world/world.ts";
import type { RecallHit } from "./recall-signals.ts";

const dayMs = 86_400_000;

/** How long recalls count and are stored, in milliseconds. */
export const recallWindowMs = 90 * dayMs;

/** Maximum number of memories of one sweep. */
const maxCandidates = 10_000;

/** A recall: the question, and the memories that answered it, the best first. */
export interface RecallEvent {
  /** Identifies the call. A call that is repeated after a crash is one event. */
  call: string;
  query: string;
  /** Epoch ms. */
  at: number;
  hits: { memory: string; path: string; rank: number }[];
}

const partition = (agentId: string) => `RECALL#${agentId}`;
const timeKey = (at: number) => `E#${String(at).padStart(15, "0")}`;

export function recallEvent(
  call: string,
  query: string,
  at: number,
  found: readonly (Pick<Memory, "id" | "places"> & { rank: number })[],
): RecallEvent {
  const hits = found.map(({ id, places, rank }) => ({ memory: id, path: places[0]?.path ?? "", rank }));
  return { call, query, at, hits };
}

/** Stores a recall for the sweeps of the next 90 days. */
export async function recordRecall(table: Table, agentId: string, event: RecallEvent): Promise<void> {
  const { at, ...fields } = event;
  const expiresAt = Math.floor((at + recallWindowMs) / 1000);
  const key = { pk: partition(agentId), sk: `${timeKey(at)}#${event.call}` };
  await table.put({ ...key, ...(fields as unknown as Item), at, expiresAt });
}

/** The recalls since a time, oldest first, each call once. @param since epoch ms */
export async function listRecalls(table: Table, agentId: string, since: number): Promise<RecallEvent[]> {
  const items = await table.query({ pk: partition(agentId), from: timeKey(since) });
  const events = new Map<string, RecallEvent>();
  for (const item of items) {
    const event = item as unknown as RecallEvent;
    if (!events.has(event.call)) events.set(event.call, event);
  }
  return [...events.values()];
}

/** Deletes the recalls that found a memory, with their questions. @returns their number */
export async function deleteRecallsOf(table: Table, agentId: string, memory: string): Promise<number> {
  const items = await table.query({ pk: partition(agentId) });
  const found = items.filter((item) =>
    (item as unknown as RecallEvent).hits.some((hit) => hit.memory === memory),
  );
  for (const { pk, sk } of found) await table.delete({ pk: String(pk), sk: String(sk) });
  return found.length;
}

/** How a memory was recalled, and the files that contained it. */
export interface RecalledLine {
  hits: RecallHit[];
  paths: Set<string>;
}

/** The recalls by memory; only the `maxCandidates` memories that were recalled last. */
export function recallsByMemory(events: readonly RecallEvent[]): Map<string, RecalledLine> {
  const found = new Map<string, RecalledLine>();
  for (const { query, at, hits } of events.toReversed())
    for (const { memory, path, rank } of hits) {
      const line = found.get(memory) ?? { hits: [], paths: new Set() };
      if (!found.has(memory) && found.size >= maxCandidates) continue;
      line.hits.push({ query, at, rank });
      line.paths.add(path);
      found.set(memory, line);
    }
  return found;
}
