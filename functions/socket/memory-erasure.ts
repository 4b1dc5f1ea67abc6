import { deleteRecallsOf } from "../../shared/dreaming/recall-events.ts";
import { readText, textKey } from "../../shared/objects/text-store.ts";
import type { Segment } from "../../shared/recall/segment.ts";
import { createSegments } from "../../shared/recall/segments.ts";
import { changeCompactionText } from "../../shared/session/compaction-text.ts";
import { sessionsOfAgent } from "../../shared/session/sessions.ts";
import { inGroups } from "../../shared/world/in-groups.ts";
import type { Bucket, Table } from "../../shared/world/world.ts";

/** A memory to erase from what was derived from an agent's files and conversations. */
interface Erased {
  agentId: string;
  id: string;
  /** A text without the memory; the same text when it does not contain it. */
  without(text: string): string;
}

interface Stores {
  table: Table;
  bucket: Bucket;
}

/** Deletes stored prompts that contain a memory. @returns their number */
export async function eraseFromPrompts(
  { bucket }: Pick<Stores, "bucket">,
  agentId: string,
  without: Erased["without"],
): Promise<number> {
  const { objects } = await bucket.list(textKey(agentId, ""));
  const erased = await inGroups(objects, async ({ key }) => {
    const text = await readText(bucket, agentId, key.slice(key.lastIndexOf("/") + 1));
    if (text === undefined || without(text) === text) return false;
    await bucket.delete(key);
    return true;
  });
  return erased.filter(Boolean).length;
}

/**
 * Erases a memory from what is derived from conversations and notes: the segments of the search, the texts of compactions,
 * and the recalls that found it. Archives keep what was said.
 * @returns the number of changed objects and items
 */
export async function eraseFromDerived({ table, bucket }: Stores, erased: Erased): Promise<number> {
  const { agentId, id, without } = erased;
  let changed = await createSegments(bucket).edit(agentId, (segment) => withoutText(segment, without));
  changed += await deleteRecallsOf(table, agentId, id);
  for (const sessionKey of await sessionsOfAgent(table, agentId))
    if (await changeCompactionText(table, sessionKey, without)) changed++;
  return changed;
}

/** Notes with the memory are left out: the next recall reads their files. */
function withoutText({ archives, notes }: Segment, without: Erased["without"]): Segment {
  const left = archives.map((part) => ({
    ...part,
    turns: part.turns.flatMap((turn) => {
      const text = without(turn.text);
      return text === turn.text ? turn : text.trim() === "" ? [] : { ...turn, text };
    }),
  }));
  const kept = Object.entries(notes).filter(([, { text }]) => without(text) === text);
  return { archives: left, notes: Object.fromEntries(kept) };
}
