import { originsIn } from "../origins/origins.ts";
import { logError } from "../runtime/log.ts";
import { listArchives, readArchive } from "../session/archive.ts";
import { inGroups } from "../world/in-groups.ts";
import type { Bucket } from "../world/world.ts";
import type { ArchivedPart, Turn } from "./segment.ts";
import { isFormer, maxCharacters, type Segments, type StoredSegment, sizeOfTurn } from "./segments.ts";
import { createTurnIndex, type TurnIndex } from "./turn-index.ts";
import { numberTurns } from "./turns-of.ts";

/** Maximum number of archives without a segment that one search reads; the next search continues. */
const maxRead = 20;

/** The turns of an agent's archived conversations. */
export interface ArchivedTurns {
  /** Shared; do not add to them. */
  indexes: TurnIndex[];
  /** Number of archives not in the indexes yet, because they had no segment; the next call continues with them. */
  waiting: number;
}

/**
 * Reads the turns of archived conversations from their segments; a warm function caches their indexes. Adds archives that have
 * no segment, after a crash for example, and removes from the segments what has no archive any more.
 */
export function createArchivedTurns(
  bucket: Bucket,
  segments: Segments,
): (agentId: string, timezone: string) => Promise<ArchivedTurns> {
  const known = new WeakMap<StoredSegment, { timezone: string; index: TurnIndex }>();
  const indexOf = (stored: StoredSegment, timezone: string) => {
    const indexed = known.get(stored);
    if (indexed?.timezone === timezone) return indexed.index;
    const index = createTurnIndex(timezone);
    for (const { sessionKey, sessionId, origins, turns } of stored.archives)
      index.add({ sessionKey, sessionId, origins }, turns);
    known.set(stored, { timezone, index });
    return index;
  };
  return async (agentId, timezone) => {
    const { stored, waiting } = await readHealed(bucket, segments, agentId);
    return { indexes: stored.map((one) => indexOf(one, timezone)), waiting };
  };
}

async function readHealed(
  bucket: Bucket,
  segments: Segments,
  agentId: string,
): Promise<{ stored: StoredSegment[]; waiting: number }> {
  const [stored, archives] = await Promise.all([segments.read(agentId), listArchives(bucket, agentId)]);
  const parts = stored.flatMap((one) => one.archives);
  const complete = new Set(parts.flatMap(({ archive, more }) => (more ? [] : archive)));
  const missing = archives.filter((key) => !complete.has(archiveName(key)));
  const added = await addArchives(bucket, segments, agentId, missing.slice(0, maxRead));
  const areOrphans = await removeOrphans(bucket, segments, agentId, parts, archives);
  const areFormer = stored.some(({ key }) => isFormer(key));
  if (areFormer) await segments.settle(agentId);
  const isChanged = added > 0 || areOrphans || areFormer;
  return { stored: isChanged ? await segments.read(agentId) : stored, waiting: missing.length - added };
}

/** Removes what has no archive. @returns whether there was any */
async function removeOrphans(
  bucket: Bucket,
  segments: Segments,
  agentId: string,
  parts: readonly ArchivedPart[],
  archives: readonly string[],
): Promise<boolean> {
  const among = (known: readonly string[]) => {
    const names = new Set(known.map(archiveName));
    return new Set(parts.flatMap(({ archive }) => (names.has(archive) ? [] : archive)));
  };
  // An archive is written before its segment: a second list has those that the first one was too early for.
  if (among(archives).size === 0) return false;
  const orphans = among(await listArchives(bucket, agentId));
  await removeArchives(segments, agentId, ({ archive }) => orphans.has(archive));
  return orphans.size > 0;
}

/**
 * Adds archives to the segments. A repeat changes nothing. A damaged archive is left out, and logged.
 * @returns the number of archives that were added
 */
export async function addArchives(
  bucket: Bucket,
  segments: Segments,
  agentId: string,
  keys: readonly string[],
): Promise<number> {
  if (keys.length === 0) return 0;
  const read = await inGroups(keys, async (key) => {
    try {
      return await partsOf(bucket, key);
    } catch (error) {
      // A damaged archive must not prevent the search of the others.
      logError("recall.segment", error, { key });
      return [];
    }
  });
  await segments.add(agentId, { archives: read.flat() });
  // An archive that was deleted meanwhile is deleted here too: its deletion may have read the segments before.
  const heads = await inGroups(keys, (key) => bucket.head(key));
  const gone = new Set(keys.filter((_, i) => !heads[i]).map(archiveName));
  if (gone.size > 0) await removeArchives(segments, agentId, ({ archive }) => gone.has(archive));
  return read.filter(({ length }) => length > 0).length;
}

/** Removes archives from the segments. @returns the number of changed objects */
export function removeArchives(
  segments: Segments,
  agentId: string,
  isGone: (part: ArchivedPart) => boolean,
): Promise<number> {
  return segments.edit(agentId, ({ archives, notes }) => ({
    archives: archives.filter((part) => !isGone(part)),
    notes,
  }));
}

/** An archive's name in its segment. */
export const archiveName = (archiveKey: string): string => archiveKey.replace(/^.*\/|\.jsonl\.gz$/g, "");

/** @throws when there is no such archive, or it is damaged */
async function partsOf(bucket: Bucket, archiveKey: string): Promise<ArchivedPart[]> {
  const head = await bucket.head(archiveKey);
  if (!head) throw new Error(`there is no archive ${archiveKey}`);
  const { sessionKey = "", sessionId = "", archivedAt } = head.metadata;
  const origins = originsIn(head.metadata);
  const add = numberTurns();
  const turns: Turn[] = [];
  for await (const message of readArchive(bucket, archiveKey)) {
    const turn = add(message);
    if (turn) turns.push(turn);
  }
  const about = { archive: archiveName(archiveKey), sessionKey, sessionId, at: Number(archivedAt) };
  const parts = split(turns).map((some) => ({
    ...about,
    ...(origins.length === 0 ? {} : { origins }),
    turns: some,
  }));
  return parts.map((part, i) => (i < parts.length - 1 ? { ...part, more: true } : part));
}

/** At least one part: an archive without turns also gets one, so that it is not read again. */
function split(turns: readonly Turn[]): Turn[][] {
  const parts: Turn[][] = [[]];
  let characters = 0;
  for (const turn of turns) {
    if (characters + sizeOfTurn(turn) > maxCharacters && characters > 0) {
      parts.push([]);
      characters = 0;
    }
    parts.at(-1)?.push(turn);
    characters += sizeOfTurn(turn);
  }
  return parts;
}
