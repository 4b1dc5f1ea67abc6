import { LRUCache } from "lru-cache";
import { logError } from "../runtime/log.ts";
import { listArchives } from "../session/archive.ts";
import type { Bucket, ListedObject } from "../world/world.ts";
import {
  readSegment,
  segmentKey,
  segmentOf,
  segmentsPrefix,
  sessionIdOfSegment,
  writeSegment,
} from "./segment-files.ts";
import { createTurnIndex, type TurnIndex } from "./turn-index.ts";
import { vectorsKey } from "./vectors/vector-files.ts";

/** Maximum memory for cached turns and their words in a warm function, in bytes. */
const maxBytes = 50_000_000;

/** Maximum number of missing segments that one search writes; the next search continues. */
const maxWritten = 20;

const readsAtOnce = 20;
const writesAtOnce = 4;

/** Which archives of an agent to read. */
export interface ArchiveScope {
  agentId: string;
  /** Only these conversations; absent: all. */
  sessionIds?: readonly string[];
  /** IANA name; determines the day of a turn. */
  timezone: string;
}

export interface ArchivedTurns {
  /** Shared; do not add to it. */
  index: TurnIndex;
  /** The objects of the segments in the index. */
  segments: readonly ListedObject[];
  /** Number of archives not in the index yet, because they had no segment; the next call continues with them. */
  waiting: number;
}

interface Kept {
  index: TurnIndex;
  etags: Map<string, string>;
}

/**
 * Reads the turns of archived conversations from their segments. A warm function caches them and reads only new segments. A
 * missing segment (of an older archive, or after a crash) is written.
 */
export function createArchivedTurns(bucket: Bucket): (scope: ArchiveScope) => Promise<ArchivedTurns> {
  const kept = new LRUCache<string, Kept>({
    maxSize: maxBytes,
    sizeCalculation: ({ index }) => Math.min(maxBytes, Math.max(1, index.bytes())),
  });
  return async (scope) => {
    const { objects, waiting } = await findSegments(bucket, scope);
    const name = JSON.stringify(scope);
    const known = kept.get(name);
    const current = known && isCurrent(known, objects) ? known : undefined;
    const state = current ?? { index: createTurnIndex(scope.timezone), etags: new Map() };
    await addSegments(bucket, state, objects);
    kept.set(name, state);
    return { index: state.index, segments: objects, waiting };
  };
}

/**
 * Lists the segments in order, after writing some of the missing ones, and deleting those whose archive no longer exists.
 */
async function findSegments(
  bucket: Bucket,
  { agentId, sessionIds }: ArchiveScope,
): Promise<{ objects: ListedObject[]; waiting: number }> {
  const list = async () => (await bucket.list(segmentsPrefix(agentId))).objects;
  const [archives, first] = await Promise.all([listArchives(bucket, agentId), list()]);
  const isWanted = (key: string) => sessionIds === undefined || sessionIds.includes(sessionIdOfSegment(key));
  const there = new Set(first.map(({ key }) => key));
  const missing = archives.filter((key) => isWanted(segmentKey(key)) && !there.has(segmentKey(key)));
  const written = await writeMissing(bucket, missing.slice(0, maxWritten));
  const gone = await deleteOrphans(bucket, agentId, first, archives);
  const objects = (written === 0 ? first : await list()).filter(({ key }) => !gone.has(key));
  const complete = new Set(objects.map(({ key }) => key));
  return {
    // An object of a long segment counts only when the whole segment is written.
    objects: objects.filter(({ key }) => isWanted(key) && complete.has(segmentOf(key))).sort(byPlace),
    waiting: missing.length - written,
  };
}

/** Deletes segments without an archive, with their vectors. @returns their keys */
async function deleteOrphans(
  bucket: Bucket,
  agentId: string,
  segments: readonly ListedObject[],
  archives: readonly string[],
): Promise<Set<string>> {
  const among = (known: readonly string[]) => {
    const owners = new Set(known.map(segmentKey));
    return segments.map(({ key }) => key).filter((key) => !owners.has(segmentOf(key)));
  };
  // An archive is written before its segment: a second list has those that the first one was too early for.
  if (among(archives).length === 0) return new Set();
  const orphans = among(await listArchives(bucket, agentId));
  for (const key of orphans) {
    await bucket.delete(vectorsKey(key));
    await bucket.delete(key);
  }
  return new Set(orphans);
}

/** @returns the number of written segments */
async function writeMissing(bucket: Bucket, archives: readonly string[]): Promise<number> {
  let written = 0;
  for (let start = 0; start < archives.length; start += writesAtOnce) {
    const some = archives.slice(start, start + writesAtOnce).map(async (key) => {
      try {
        await writeSegment(bucket, key);
        written++;
      } catch (error) {
        // A damaged archive must not prevent the search of the others.
        logError("recall.segment", error, { key });
      }
    });
    await Promise.all(some);
  }
  return written;
}

/** Whether no segment in an index has been changed or deleted since. */
function isCurrent({ etags }: Kept, objects: readonly ListedObject[]): boolean {
  const now = new Map(objects.map(({ key, etag }) => [key, etag]));
  return [...etags].every(([key, etag]) => now.get(key) === etag);
}

async function addSegments(
  bucket: Bucket,
  { index, etags }: Kept,
  objects: readonly ListedObject[],
): Promise<void> {
  const fresh = objects.filter(({ key }) => !etags.has(key));
  for (let start = 0; start < fresh.length; start += readsAtOnce) {
    const some = fresh.slice(start, start + readsAtOnce);
    const segments = await Promise.all(some.map(({ key }) => readSegment(bucket, key)));
    for (const [i, segment] of segments.entries()) {
      const { key, etag } = some[i] as ListedObject;
      // Concurrent searches fill the same index.
      if (!segment || etags.has(key)) continue;
      etags.set(key, etag);
      const { sessionKey, sessionId, origins } = segment;
      index.add({ sessionKey, sessionId, origins }, segment.turns);
    }
  }
}

/** Sorts parts before the final archive of a conversation, and the objects of one segment by number. */
function byPlace(a: ListedObject, b: ListedObject): number {
  const [left, right] = [orderOf(a.key), orderOf(b.key)];
  return left.sessionId < right.sessionId
    ? -1
    : left.sessionId > right.sessionId
      ? 1
      : left.part - right.part || left.piece - right.piece;
}

function orderOf(key: string): { sessionId: string; part: number; piece: number } {
  const part = Number(/-part(\d+)(\.\d+)?\.json\.gz$/.exec(key)?.[1] ?? Number.MAX_SAFE_INTEGER);
  const piece = Number(/\.(\d+)\.json\.gz$/.exec(key)?.[1] ?? 1);
  return { sessionId: sessionIdOfSegment(key), part, piece };
}
