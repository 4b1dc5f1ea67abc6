import { joinOrigins } from "../origins/origins.ts";
import { code, PeerError } from "../protocol/errors.ts";
import type { Memory, MemoryRecord, MemoryType } from "../protocol/memory-schemas.ts";
import { questionTerms, rankTurns } from "../recall/ranking.ts";
import { createTurnIndex, type TurnIndex } from "../recall/turn-index.ts";
import { termsOf } from "../recall/words.ts";
import { localTime } from "../runtime/zoned-time.ts";
import { type Audience, checkWritable } from "../workspace/privacy.ts";
import { dailyMemoryPath } from "../workspace/workspace-paths.ts";
import { type Ledger, usualType } from "./ledger.ts";
import type { MemoryFiles } from "./memory-files.ts";
import { type MemoryLine, memoryId, memoryText } from "./memory-line.ts";

/** Answers with more memories read all records in one query. */
const maxSingly = 50;

/** The stores of an agent's memories. */
export interface MemoryStore {
  files: MemoryFiles;
  ledger: Ledger;
}

/** The reader or writer of memories, and the time. */
export interface MemoryUse {
  agentId: string;
  audience: Audience;
  /** Epoch ms. */
  now: number;
  /** IANA name; determines the dates of the daily notes. */
  timezone: string;
}

/** A memory that answers a question, with its rank in the answer: 1, 2, … */
export interface RecalledMemory extends Memory {
  rank: number;
  /** It answers the question, rather than only sharing a word with it. */
  isHit: boolean;
  /** How much of the question it contains, by the weight of the words: from 0 to 1. */
  share: number;
  /** Whose words it may contain, besides the owner's. */
  origins: string[];
}

/** A hit has at least this share of the best score, and a term of the question that at most so many memories have. */
const hit = { ofBest: 0.5, holders: 2, ofMemories: 0.01 };

/** The origin of a new memory. */
export type MemoryOrigin = Pick<MemoryRecord, "sessionKey" | "sessionId" | "kind" | "by" | "origins"> & {
  type?: MemoryType;
};

/**
 * Writes a memory into the notes of the day, and records its origin in the ledger. A repeat changes nothing. A forgotten
 * memory can be remembered again explicitly.
 * @throws PeerError 403 when the audience may not write the notes
 */
export async function remember(
  { files, ledger }: MemoryStore,
  { agentId, audience, now, timezone }: MemoryUse,
  given: string,
  { type = usualType, ...origin }: MemoryOrigin,
): Promise<Memory> {
  const path = dailyMemoryPath(localTime(now, timezone).date);
  checkWritable(audience, path);
  const text = memoryText(given);
  const id = memoryId(text);
  await ledger.allow(agentId, id);
  await ledger.note(agentId, { id, ...origin, type, at: now });
  await files.add(agentId, path, text, origin.origins);
  return readMemory({ files, ledger }, { agentId, audience }, id);
}

/** The memories that match a question best, after them those that have ended; for an empty question the newest. */
export async function recall(
  store: MemoryStore,
  use: MemoryUse,
  query: string,
  limit: number,
): Promise<RecalledMemory[]> {
  return (await recallEach(store, use, [query], limit))[0] ?? [];
}

/** As `recall`, for several questions. */
export async function recallEach(
  { files, ledger }: MemoryStore,
  { agentId, audience, timezone }: Pick<MemoryUse, "agentId" | "audience" | "timezone">,
  queries: readonly string[],
  limit: number,
): Promise<RecalledMemory[][]> {
  const lines = await files.listWithEnded(agentId, audience);
  const known = [...joined(lines, new Map()).values()];
  const newest = known
    .filter(({ ended }) => ended === undefined)
    .map((memory) => ({ memory, isHit: false, share: 0 }));
  const orders = queries.map((query) =>
    (query.trim() === "" ? newest : rankMemories(known, query, timezone)).slice(0, limit),
  );
  // Read only the records of the answer: there is a record for every memory that ever existed.
  const found = [...new Set(orders.flat().map(({ memory }) => memory))];
  const records =
    found.length > maxSingly ? await ledger.all(agentId) : await recordsOf(ledger, agentId, found);
  return orders.map((order) =>
    order.map(({ memory, isHit, share }, i) => {
      const record = records.get(memory.id);
      const origins = record?.origins ?? originsOfLines(lines, memory.id);
      return { ...memory, ...(record ? { record } : {}), rank: i + 1, origins, isHit, share };
    }),
  );
}

/** Whose words the files with a memory contain, besides the owner's: for a memory whose record does not say it. */
export function originsOfLines(lines: readonly MemoryLine[], id: string): string[] {
  return joinOrigins(...lines.map((line) => (line.id === id ? line.origins : [])));
}

async function recordsOf(
  ledger: Ledger,
  agentId: string,
  memories: readonly Memory[],
): Promise<Map<string, MemoryRecord>> {
  const records = await Promise.all(memories.map(({ id }) => ledger.find(agentId, id)));
  return new Map(records.flatMap((record) => (record ? [[record.id, record]] : [])));
}

/** One memory. @throws PeerError 404 */
export async function readMemory(
  { files, ledger }: MemoryStore,
  { agentId, audience }: Pick<MemoryUse, "agentId" | "audience">,
  id: string,
): Promise<Memory> {
  const [lines, record] = await Promise.all([files.list(agentId, audience), ledger.find(agentId, id)]);
  const memory = joined(
    lines.filter((line) => line.id === id),
    new Map(record ? [[id, record]] : []),
  ).get(id);
  if (!memory) throw noMemory(agentId, id);
  return memory;
}

/**
 * Removes a memory from every file, also where it is struck out, and leaves a tombstone, so that no reset or compaction
 * extracts it again. It stays in the workspace's history. A repeat changes nothing.
 * @returns the files that contained it
 * @throws PeerError 404
 */
export async function forget(
  store: MemoryStore,
  { agentId, audience, now }: MemoryUse,
  id: string,
): Promise<string[]> {
  const found = await store.files.find(agentId, audience, id);
  const [memory] = found;
  if (!memory) throw noMemory(agentId, id);
  // Write the tombstone first: an extraction that finishes concurrently checks it.
  await store.ledger.forget(agentId, memory.text, now);
  const files = await store.files.remove(agentId, id);
  return files.length > 0 ? files : [...new Set(found.map(({ path }) => path))];
}

/**
 * Strikes a memory out, and remembers another in its place. The old one stays readable in its file, but no reset or
 * compaction extracts it again.
 * @returns the new memory, and the files that contained the old one
 * @throws PeerError 404, 403, or 400 when both have the same text
 */
export async function supersede(
  store: MemoryStore,
  use: MemoryUse,
  id: string,
  text: string,
  origin: MemoryOrigin,
): Promise<{ by: Memory; files: string[] }> {
  if (memoryId(text) === id)
    throw new PeerError(code.badRequest, "text: the correction is the same as the memory; change its text");
  const old = await readMemory(store, use, id);
  const by = await remember(store, use, text, { type: old.record?.type, ...origin });
  await store.ledger.supersede(use.agentId, id, { id: by.id, at: use.now });
  return { by, files: await store.files.strike(use.agentId, id, monthOf(use)) };
}

/** The month of a use, `YYYY-MM`, as struck-out memories say it. */
export function monthOf({ now, timezone }: Pick<MemoryUse, "now" | "timezone">): string {
  return localTime(now, timezone).date.slice(0, 7);
}

/**
 * Ends a memory, or lets another that is noted already replace it: it is struck out, and no reset or compaction extracts it
 * again. A repeat changes nothing.
 * @param by the id of the other memory
 */
export async function end(store: MemoryStore, use: MemoryUse, id: string, by?: string): Promise<void> {
  await store.ledger.supersede(use.agentId, id, { at: use.now, ...(by === undefined ? {} : { id: by }) });
  await store.files.strike(use.agentId, id, monthOf(use));
}

/**
 * Lets a forgotten memory be extracted again, and undoes that it ended or was replaced.
 * @returns the files in which it was struck out; undefined when it was not forgotten, ended or replaced
 */
export async function allow(store: MemoryStore, agentId: string, id: string): Promise<string[] | undefined> {
  const isAllowed = await store.ledger.allow(agentId, id);
  const files = await store.files.restore(agentId, id);
  return isAllowed || files.length > 0 ? files : undefined;
}

/** Joins lines with the same text into one memory, in the order of first occurrence. */
function joined(
  lines: readonly MemoryLine[],
  records: ReadonlyMap<string, MemoryRecord>,
): Map<string, Memory> {
  const memories = new Map<string, Memory>();
  const current = new Set(lines.flatMap(({ id, ended }) => (ended === undefined ? [id] : [])));
  for (const { id, text, path, line, ended } of lines) {
    // Where it is struck out does not matter if it is noted elsewhere.
    if (ended !== undefined && current.has(id)) continue;
    const record = records.get(id);
    const known = memories.get(id);
    const memory = known ?? { id, text, places: [], ...(record && { record }), ...(ended && { ended }) };
    memory.places.push({ path, line });
    memories.set(id, memory);
  }
  return memories;
}

function noMemory(agentId: string, id: string): PeerError {
  return new PeerError(
    code.notFound,
    `the agent ${agentId} has no memory ${id}; \`gsv memory list\` shows its memories`,
  );
}

/** An index of memories: `n` of a turn is the memory's place in the list, from 1 on. */
export function indexMemories(
  memories: readonly Pick<Memory, "id" | "text" | "places">[],
  timezone: string,
): TurnIndex {
  const index = createTurnIndex(timezone);
  for (const [place, { id, text, places }] of memories.entries()) {
    // Index each as a separate conversation: its neighbours in the file are unrelated.
    const turn = { n: place + 1, ts: dayOf(places), role: "user", text } as const;
    index.add({ sessionKey: "", sessionId: id }, [turn]);
  }
  return index;
}

/** Memories that match a question, best first, by their words and by the day of their note. */
function rankMemories(
  memories: readonly Memory[],
  question: string,
  timezone: string,
): { memory: Memory; isHit: boolean; share: number }[] {
  const index = indexMemories(memories, timezone);
  const few = Math.max(hit.holders, hit.ofMemories * memories.length);
  const rare = new Set(questionTerms(question).filter((term) => index.postings(term).length <= few));
  const ranked = rankTurns([index], question, memories.length);
  const atLeast = (ranked[0]?.score ?? 0) * hit.ofBest;
  const found = ranked.flatMap(({ turn, score, share }) => {
    const memory = memories[turn.n - 1];
    const isHit =
      memory?.ended === undefined && score >= atLeast && termsOf(turn.text).some((term) => rare.has(term));
    return memory ? [{ memory, isHit, share }] : [];
  });
  return found.sort((a, b) => Number(a.memory.ended !== undefined) - Number(b.memory.ended !== undefined));
}

/** Noon of the newest day whose note contains a memory, epoch ms; 0 when only MEMORY.md does. */
function dayOf(places: Memory["places"]): number {
  const dates = places.map(({ path }) => /(\d{4}-\d{2}-\d{2})\.md$/.exec(path)?.[1]);
  const date = dates.find((one) => one !== undefined);
  return date === undefined ? 0 : Date.parse(`${date}T12:00:00Z`);
}
