import { gzipSync } from "node:zlib";
import { deleteRecallsOf } from "../../shared/dreaming/recall-events.ts";
import { readText, textKey } from "../../shared/objects/text-store.ts";
import { readSegment, segmentsPrefix } from "../../shared/recall/segment-files.ts";
import { vectorsKey } from "../../shared/recall/vectors/vector-files.ts";
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
export function eraseFromPrompts(
  { bucket }: Pick<Stores, "bucket">,
  agentId: string,
  without: Erased["without"],
): Promise<number> {
  return overKeys(bucket, textKey(agentId, ""), async (key) => {
    const text = await readText(bucket, agentId, key.slice(key.lastIndexOf("/") + 1));
    if (text === undefined || without(text) === text) return false;
    await bucket.delete(key);
    return true;
  });
}

/**
 * Erases a memory from what is derived from conversations: the segments and vectors of the search, the texts of compactions,
 * and the recalls that found it. Archives keep what was said.
 * @returns the number of changed objects and items
 */
export async function eraseFromDerived({ table, bucket }: Stores, erased: Erased): Promise<number> {
  const { agentId, id, without } = erased;
  const prefix = segmentsPrefix(agentId);
  let changed = await overKeys(bucket, prefix, (key) => eraseFromSegment(bucket, key, erased));
  changed += await deleteRecallsOf(table, agentId, id);
  for (const sessionKey of await sessionsOfAgent(table, agentId))
    if (await changeCompactionText(table, sessionKey, without)) changed++;
  return changed;
}

/** The next search writes new vectors for the changed turns. */
async function eraseFromSegment(bucket: Bucket, key: string, { without }: Erased): Promise<boolean> {
  const segment = await readSegment(bucket, key);
  if (!segment) return false;
  const turns = segment.turns.map((turn) => ({ ...turn, text: without(turn.text) }));
  if (turns.every(({ text }, i) => text === segment.turns[i]?.text)) return false;
  const left = turns.filter(({ text }) => text.trim() !== "");
  await bucket.delete(vectorsKey(key));
  const body = gzipSync(JSON.stringify({ ...segment, turns: left }));
  await bucket.put(key, body, { contentType: "application/gzip" });
  return true;
}

/** @returns how many of the objects under a prefix were changed */
async function overKeys(
  bucket: Bucket,
  prefix: string,
  change: (key: string) => Promise<boolean>,
): Promise<number> {
  const { objects } = await bucket.list(prefix);
  return (await inGroups(objects, ({ key }) => change(key))).filter(Boolean).length;
}
