import { gunzipSync, gzipSync } from "node:zlib";
import { LRUCache } from "lru-cache";
import { logError } from "../runtime/log.ts";
import { inGroups } from "../world/in-groups.ts";
import { type Bucket, type ListedObject, PreconditionFailed } from "../world/world.ts";
import type { ArchivedPart, Segment, Turn } from "./segment.ts";

/** Maximum characters in one object; a quarter with more has several. A function of 256 MB parses it in a quarter second. */
export const maxCharacters = 4_000_000;

/** Maximum memory for the cached segments of all agents, and the approximate memory of a compressed byte. */
const cache = { bytes: 50_000_000, ofStoredByte: 15 };

/** Maximum conflicts of one write with other writers. */
const maxConflicts = 10;

/** A segment with the key and version of its object. Shared: do not change it. */
export interface StoredSegment extends Readonly<Segment> {
  key: string;
  etag: string;
}

/**
 * The segments of agents, one object for each quarter of a year (docs/decisions/search.md). They are copies: archives and
 * files are the originals. Create one per warm function: it caches them.
 */
export interface Segments {
  /** All segments of an agent, including those of earlier releases. A warm function reads only changed ones. */
  read(agentId: string): Promise<StoredSegment[]>;
  /**
   * Adds archives and notes, unless they are there. A repeat changes nothing.
   * @throws after too many conflicts
   */
  add(agentId: string, added: Partial<Segment>): Promise<void>;
  /**
   * Changes all segments.
   * @returns the number of changed objects
   * @throws after too many conflicts
   */
  edit(agentId: string, change: (segment: Readonly<Segment>) => Segment): Promise<number>;
  /** Moves the contents of an earlier release's objects (one for each archive, one for all notes) into quarters. */
  settle(agentId: string): Promise<void>;
}

export function createSegments(bucket: Bucket): Segments {
  const kept = new LRUCache<string, Map<string, Promise<StoredSegment>>>({ maxSize: cache.bytes });
  const list = async (agentId: string) => (await bucket.list(prefixOf(agentId))).objects;
  const read = async (agentId: string, listed: readonly ListedObject[]) => {
    const before = kept.get(agentId);
    const now = new Map<string, Promise<StoredSegment>>();
    for (const { key, etag } of listed)
      if (!isVectors(key)) now.set(`${key} ${etag}`, before?.get(`${key} ${etag}`) ?? load(bucket, key));
    const size = listed.reduce((sum, one) => sum + one.size, 1) * cache.ofStoredByte;
    kept.set(agentId, now, { size: Math.min(size, cache.bytes) });
    try {
      return await Promise.all(now.values());
    } catch (error) {
      kept.delete(agentId);
      throw error;
    }
  };
  const segments: Segments = {
    read: async (agentId) => read(agentId, await list(agentId)),
    async add(agentId, { archives = [], notes = {} }) {
      const quarters = new Map<string, Segment>();
      const of = (time: string) => {
        const quarter = quarters.get(quarterOf(time)) ?? { archives: [], notes: {} };
        quarters.set(quarterOf(time), quarter);
        return quarter;
      };
      for (const part of archives) of(new Date(part.at).toISOString()).archives.push(part);
      for (const [path, note] of Object.entries(notes)) of(path.replace(/^.*\//, "")).notes[path] = note;
      for (const [quarter, part] of quarters)
        await addToQuarter(bucket, `${prefixOf(agentId)}${quarter}`, part);
    },
    async edit(agentId, change) {
      await segments.settle(agentId);
      const changes = (await segments.read(agentId)).map((stored) => editOne(bucket, stored, change));
      return (await Promise.all(changes)).filter(Boolean).length;
    },
    async settle(agentId) {
      const listed = await list(agentId);
      const former = listed.filter(({ key }) => isFormer(key));
      if (former.length === 0) return;
      const stored = (await read(agentId, listed)).filter(({ key }) => isFormer(key));
      const notes = Object.assign({}, ...stored.map((one) => one.notes));
      await segments.add(agentId, { archives: stored.flatMap(({ archives }) => archives), notes });
      // Without the others, nothing shows that there are vectors.
      for (const isLast of [false, true])
        await inGroups(
          former.filter(({ key }) => isVectors(key) !== isLast),
          ({ key }) => bucket.delete(key),
        );
    },
  };
  return segments;
}

const prefixOf = (agentId: string) => `agents/${agentId}/recall/`;

/** `2026-q4`, for a time or date in ISO format. */
function quarterOf(time: string): string {
  const [, year, month] = /^(\d{4})-(\d{2})-/.exec(time) ?? [];
  return year === undefined ? "undated" : `${year}-q${Math.ceil(Number(month) / 3)}`;
}

/** Whether an earlier release wrote an object: a segment of one archive, its vectors, or the index of the notes. */
export function isFormer(key: string): boolean {
  return /\/recall\/(?:[sv]\/|notes\.json\.gz$)/.test(key);
}

const isVectors = (key: string): boolean => key.endsWith(".bin");

async function load(bucket: Bucket, key: string): Promise<StoredSegment> {
  const object = await bucket.get(key);
  return {
    key,
    etag: object?.etag ?? "",
    ...(object ? parse(key, object.body) : { archives: [], notes: {} }),
  };
}

/** A damaged object counts as empty: what it had is added again. */
function parse(key: string, body: Uint8Array): Segment {
  try {
    const stored = JSON.parse(gunzipSync(body).toString());
    if (!isFormer(key)) return { archives: stored.archives, notes: stored.notes };
    if (stored.notes) return { archives: [], notes: stored.notes };
    const [, archive = "", piece] = /\/([^/]+?)(\.\d+)?\.json\.gz$/.exec(key) ?? [];
    const { v: _, agentId: __, ...part } = stored;
    return { archives: [{ archive, ...part, ...(piece ? { more: true } : {}) }], notes: {} };
  } catch (error) {
    logError("recall.segment", error, { key });
    return { archives: [], notes: {} };
  }
}

/** Writes a segment over the version that was read. An empty `etag`: there was none. @returns false after a conflict */
async function write(bucket: Bucket, { key, etag, archives, notes }: StoredSegment): Promise<boolean> {
  const body = gzipSync(JSON.stringify({ v: 2, archives, notes }));
  const unchanged = etag === "" ? { ifAbsent: true } : { ifMatch: etag };
  try {
    await bucket.put(key, body, { contentType: "application/gzip", ...unchanged });
    return true;
  } catch (error) {
    if (error instanceof PreconditionFailed) return false;
    throw error;
  }
}

async function editOne(
  bucket: Bucket,
  stored: StoredSegment,
  change: (segment: Readonly<Segment>) => Segment,
): Promise<boolean> {
  let known = stored;
  for (let conflicts = 0; conflicts < maxConflicts; conflicts++) {
    const changed = { ...known, ...change(known) };
    if (JSON.stringify(changed) === JSON.stringify(known)) return false;
    if (await write(bucket, changed)) return true;
    known = await load(bucket, known.key);
  }
  throw new Error(`${stored.key} was changed by other writers ${maxConflicts} times`);
}

/** @param place the key of the quarter's first object, without its extension */
async function addToQuarter(bucket: Bucket, place: string, added: Segment): Promise<void> {
  for (let conflicts = 0; conflicts < maxConflicts; ) {
    const { objects } = await bucket.list(`${place}.`);
    const parts = await Promise.all(objects.map(({ key }) => load(bucket, key)));
    const planned = plan(place, parts, added);
    if (!planned) return;
    if (!(await write(bucket, planned.segment))) conflicts++;
    else if (planned.isLast) return;
  }
  throw new Error(`${place} was changed by other writers ${maxConflicts} times`);
}

/** The next write of an addition, and whether it is the last one; undefined when all of it is there. */
function plan(
  place: string,
  parts: readonly StoredSegment[],
  added: Segment,
): { segment: StoredSegment; isLast: boolean } | undefined {
  const known = new Set(parts.flatMap(({ archives }) => archives.map(nameOf)));
  // Of a complete archive nothing is added: a memory may have been erased from it.
  const complete = new Set(
    parts.flatMap((one) => one.archives.flatMap(({ archive, more }) => (more ? [] : archive))),
  );
  const archives = added.archives.filter((part) => !complete.has(part.archive) && !known.has(nameOf(part)));
  const notes = Object.entries(added.notes).filter(([path, { etag }]) =>
    parts.every((part) => part.notes[path]?.etag !== etag),
  );
  if (archives.length + notes.length === 0) return undefined;
  const last = parts.toSorted((a, b) => numberOf(a.key) - numberOf(b.key)).at(-1);
  const first = archives[0] ? sizeOfPart(archives[0]) : (notes[0]?.[1].text.length ?? 0);
  const isFull = last !== undefined && sizeOf(last) + first > maxCharacters;
  const number = last ? numberOf(last.key) + Number(isFull) : 1;
  const empty = { key: `${place}.${number}.json.gz`, etag: "", archives: [], notes: {} };
  const target: StoredSegment = last && !isFull ? last : empty;
  // Older versions of these notes are removed first, so that none stays in another object.
  const outdated = parts.find((part) => part !== target && notes.some(([path]) => path in part.notes));
  if (outdated) {
    const left = Object.entries(outdated.notes).filter(([path]) => notes.every(([other]) => other !== path));
    return { segment: { ...outdated, notes: Object.fromEntries(left) }, isLast: false };
  }
  const segment = { ...target, archives: [...target.archives], notes: { ...target.notes } };
  let size = sizeOf(target);
  for (const part of archives) {
    size += sizeOfPart(part);
    if (size > maxCharacters && segment.archives.length > 0) return { segment, isLast: false };
    segment.archives.push(part);
  }
  for (const [path, note] of notes) {
    size += note.text.length;
    if (size > maxCharacters) return { segment, isLast: false };
    segment.notes[path] = note;
  }
  return { segment, isLast: true };
}

const numberOf = (key: string): number => Number(/\.(\d+)\.json\.gz$/.exec(key)?.[1] ?? 0);

const nameOf = ({ archive, turns }: ArchivedPart): string => `${archive} ${turns[0]?.n ?? 0}`;

function sizeOf({ archives, notes }: Readonly<Segment>): number {
  const ofNotes = Object.values(notes).reduce((sum, { text }) => sum + text.length, 0);
  return archives.reduce((sum, part) => sum + sizeOfPart(part), ofNotes);
}

const sizeOfPart = ({ turns }: ArchivedPart): number =>
  turns.reduce((sum, turn) => sum + sizeOfTurn(turn), 0);

/** With about a hundred characters for its other fields. */
export const sizeOfTurn = ({ text }: Turn): number => text.length + 100;

/** Removes the copies of notes. */
export async function removeNotes(
  segments: Segments,
  agentId: string,
  paths: readonly string[],
): Promise<void> {
  const isLeft = ([path]: [string, unknown]) => !paths.includes(path);
  await segments.edit(agentId, ({ archives, notes }) => ({
    archives,
    notes: Object.fromEntries(Object.entries(notes).filter(isLeft)),
  }));
}
