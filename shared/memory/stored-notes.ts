import type { Note } from "../recall/segment.ts";
import { removeNotes, type Segments } from "../recall/segments.ts";
import { logError } from "../runtime/log.ts";
import type { CachedReader } from "../workspace/cached-reader.ts";
import { isDailyMemory, workspacePrefix } from "../workspace/workspace-paths.ts";
import { inGroups } from "../world/in-groups.ts";
import type { Bucket, ListedObject } from "../world/world.ts";

/** Number of newest notes without a copy, because they still change. */
export const newestNotes = 2;

/** Maximum characters of a stored note. Longer ones are read as files. */
const maxCharacters = 100_000;

/**
 * Gives a reader the listed notes from their copies in the agent's segments, so that a cold function need not read every file.
 * Copies those without a copy. Reads nothing when few are missing.
 */
export async function fillNotes(
  { bucket, segments }: { bucket: Bucket; segments: Segments },
  reader: CachedReader,
  agentId: string,
  listed: readonly ListedObject[],
): Promise<void> {
  const prefix = workspacePrefix(agentId);
  const pathOf = ({ key }: ListedObject) => key.slice(prefix.length);
  const listedNotes = listed.filter((one) => isDailyMemory(pathOf(one)));
  const lacking = listedNotes.filter(({ key, etag }) => !reader.holds(key, etag));
  if (lacking.length <= newestNotes) return;
  const notes = Object.assign({}, ...(await segments.read(agentId)).map((one) => one.notes));
  for (const one of lacking) {
    const known: Note | undefined = notes[pathOf(one)];
    if (known?.etag === one.etag) reader.keep(one.key, known);
  }
  const settled = listedNotes.toSorted((a, b) => (a.key < b.key ? -1 : 1)).slice(0, -newestNotes);
  const fresh = settled.filter((one) => notes[pathOf(one)]?.etag !== one.etag);
  const texts = await inGroups(fresh, ({ key, etag }) => reader.readListed(key, etag));
  const added = fresh.flatMap((one, i): [string, Note][] => {
    const [text, origins] = [texts[i], reader.originsOf(one.key)];
    if (text === undefined || text.length > maxCharacters) return [];
    return [
      [pathOf(one), { etag: one.etag, text, ...(origins.length === 0 ? {} : { origins: [...origins] }) }],
    ];
  });
  try {
    let now = listed;
    if (added.length > 0) {
      await segments.add(agentId, { notes: Object.fromEntries(added) });
      // What a note has lost since it was read must not stay in its copy.
      now = (await bucket.list(`${prefix}memory/`)).objects;
    }
    const current = new Map(now.map((one) => [pathOf(one), one.etag]));
    const outdated = [
      ...added.flatMap(([path, { etag }]) => (current.get(path) === etag ? [] : path)),
      ...Object.keys(notes).filter((path) => !current.has(path)),
    ];
    if (outdated.length > 0) await removeNotes(segments, agentId, outdated);
  } catch (error) {
    // The caller's answer does not depend on the copies.
    logError("notes.segment", error, { agentId });
  }
}
