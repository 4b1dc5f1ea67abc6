import { gunzipSync, gzipSync } from "node:zlib";
import { logError } from "../runtime/log.ts";
import type { CachedReader, Version } from "../workspace/cached-reader.ts";
import { isDailyMemory, notesIndexPath, workspacePrefix } from "../workspace/workspace-paths.ts";
import { type Bucket, type ListedObject, PreconditionFailed } from "../world/world.ts";

/** Number of newest notes outside the index, because they still change. Up to as many missing notes are read without it. */
export const newestNotes = 16;

/** Maximum characters of one note in the index, and of all of them. Other notes are read separately. */
const max = { ofNote: 100_000, together: 10_000_000 };

/** Maximum number of files read in parallel. */
const atOnce = 16;

/** The notes of past days in one object, so that a cold function needs one read. It is only a cache of the files. */
interface NotesIndex {
  v: 1;
  /** By path in the workspace. `etag`: the version of the file that has this text. */
  notes: Record<string, Version>;
}

/** An index, and the version of its object, if there is one. */
interface StoredIndex extends NotesIndex {
  etag?: string;
}

/** The index of the notes of an agent's days (docs/decisions/notes-index.md). */
export interface NotesIndexStore {
  /** Adds listed notes that the reader lacks and the index has to the reader. Reads nothing when few are missing. */
  fill(agentId: string, listed: readonly ListedObject[]): Promise<void>;
  /** Removes notes from the index after they lost a line; without `paths` all of them. */
  drop(agentId: string, paths?: readonly string[]): Promise<void>;
}

export function openNotesIndex(bucket: Bucket, reader: CachedReader): NotesIndexStore {
  const read = async (agentId: string): Promise<StoredIndex> => {
    const object = await bucket.get(indexKey(agentId));
    return object ? { ...parseIndex(object.body), etag: object.etag } : { v: 1, notes: {} };
  };
  /** @returns false when another writer came first */
  const write = async (agentId: string, { etag, ...index }: StoredIndex): Promise<boolean> => {
    const body = gzipSync(JSON.stringify(index));
    const unchanged = etag === undefined ? { ifAbsent: true } : { ifMatch: etag };
    try {
      await bucket.put(indexKey(agentId), body, { contentType: "application/gzip", ...unchanged });
      return true;
    } catch (error) {
      if (error instanceof PreconditionFailed) return false;
      throw error;
    }
  };
  return {
    async fill(agentId, listed) {
      const prefix = workspacePrefix(agentId);
      const notes = listed.filter(({ key }) => isDailyMemory(key.slice(prefix.length)));
      const missing = notes.filter(({ key, etag }) => !reader.holds(key, etag));
      if (missing.length <= newestNotes) return;
      const index = await read(agentId);
      for (const { key, etag } of missing) {
        const known = index.notes[key.slice(prefix.length)];
        if (known?.etag === etag) reader.keep(key, known);
      }
      const settled = notes.toSorted((a, b) => (a.key < b.key ? -1 : 1)).slice(0, -newestNotes);
      const notesNow = await readNotes(reader, prefix, settled);
      if (isSame(index.notes, notesNow)) return;
      await write(agentId, { ...index, notes: notesNow }).catch((error: unknown) =>
        // The caller's answer does not depend on the index.
        logError("notes.index.failed", error, { agentId }),
      );
    },
    async drop(agentId, paths) {
      const index = await read(agentId);
      const kept = Object.entries(index.notes).filter(([path]) => paths && !paths.includes(path));
      if (kept.length === Object.keys(index.notes).length) return;
      const isWritten = await write(agentId, { ...index, notes: Object.fromEntries(kept) });
      if (!isWritten) await bucket.put(indexKey(agentId), gzipSync(JSON.stringify({ v: 1, notes: {} })));
    },
  };
}

const indexKey = (agentId: string) => workspacePrefix(agentId) + notesIndexPath;

/** A damaged index counts as empty, and is rewritten. */
function parseIndex(body: Uint8Array): NotesIndex {
  try {
    return JSON.parse(gunzipSync(body).toString()) as NotesIndex;
  } catch (error) {
    logError("notes.index.damaged", error);
    return { v: 1, notes: {} };
  }
}

async function readNotes(
  reader: CachedReader,
  prefix: string,
  listed: readonly ListedObject[],
): Promise<NotesIndex["notes"]> {
  const notes: NotesIndex["notes"] = {};
  let characters = 0;
  for (let at = 0; at < listed.length; at += atOnce) {
    const some = listed.slice(at, at + atOnce);
    const texts = await Promise.all(some.map(({ key, etag }) => reader.readListed(key, etag)));
    for (const [i, { key, etag }] of some.entries()) {
      const text = texts[i];
      characters += text?.length ?? 0;
      if (text === undefined || text.length > max.ofNote || characters > max.together) continue;
      const origins = reader.originsOf(key);
      notes[key.slice(prefix.length)] = {
        etag,
        text,
        ...(origins.length === 0 ? {} : { origins: [...origins] }),
      };
    }
  }
  return notes;
}

function isSame(one: NotesIndex["notes"], other: NotesIndex["notes"]): boolean {
  const paths = Object.keys(one);
  if (paths.length !== Object.keys(other).length) return false;
  return paths.every((path) => one[path]?.etag === other[path]?.etag);
}
