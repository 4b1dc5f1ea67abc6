import { createHash } from "node:crypto";
import type { MemoryRecord, MemoryType } from "../protocol/memory-schemas.ts";
import { termsOf } from "../recall/words.ts";
import { absent, equal, remove, set, setIfAbsent } from "../world/expression.ts";
import { type Item, type Key, succeeds, type Table } from "../world/world.ts";
import { memoryId } from "./memory-line.ts";

/**
 * The origins of memories, and which were forgotten. Stored apart from the memory files, so that a writer of a file cannot
 * forge them.
 */
export interface Ledger {
  /** Records the origin of a memory. An existing record is not changed. */
  note(agentId: string, record: MemoryRecord): Promise<void>;
  find(agentId: string, id: string): Promise<MemoryRecord | undefined>;
  /** Every record of an agent, by id. */
  all(agentId: string): Promise<Map<string, MemoryRecord>>;
  /** Records that another memory replaced this one, and leaves a tombstone that matches only the exact text. */
  supersede(agentId: string, id: string, by: { id: string; at: number }): Promise<void>;
  /** Records that dreaming promoted a memory. A repeat changes nothing. @returns false when there is no such record */
  promote(agentId: string, id: string, promoted: NonNullable<MemoryRecord["promoted"]>): Promise<boolean>;
  /** Replaces a memory's record by a tombstone, which does not contain the memory's text. */
  forget(agentId: string, text: string, at: number): Promise<void>;
  /** Removes the tombstone and `supersededBy`, because the memory was remembered again explicitly. */
  allow(agentId: string, id: string): Promise<void>;
  /** Returns a test whether a text repeats a forgotten memory, in the same or nearly the same words. */
  forgotten(agentId: string): Promise<(text: string) => boolean>;
}

/**
 * A text repeats a forgotten memory if it has this share of the memory's words, and if they are this share of its own words:
 * a longer text says something else ("Ada no longer lives in Bern, she moved to Basel").
 */
const sameWords = { ofForgotten: 0.8, ofText: 0.6 };
/** A word in a tombstone: the first digits of its hash. */
const wordDigits = 10;

const recordKey = (agentId: string, id: string): Key => ({ pk: `MEM#${agentId}`, sk: id });
const tombKey = (agentId: string, id: string): Key => ({ pk: `FORGOTTEN#${agentId}`, sk: id });

export function openLedger(table: Table): Ledger {
  return {
    async note(agentId, record) {
      const { id, ...fields } = record;
      await succeeds(table.put({ ...recordKey(agentId, id), ...(fields as unknown as Item) }, absent("pk")));
    },
    async find(agentId, id) {
      const item = await table.get(recordKey(agentId, id));
      return item && recordOf(item);
    },
    async all(agentId) {
      const items = await table.query({ pk: `MEM#${agentId}` });
      return new Map(items.map((item) => [String(item.sk), recordOf(item)]));
    },
    async supersede(agentId, id, by) {
      await table.put({ ...tombKey(agentId, id), at: by.at, words: [] });
      await succeeds(table.update(recordKey(agentId, id), [set("supersededBy", by.id)], equal("sk", id)));
    },
    promote(agentId, id, promoted) {
      const step = setIfAbsent("promoted", { ...promoted });
      return succeeds(table.update(recordKey(agentId, id), [step], equal("sk", id)));
    },
    async forget(agentId, text, at) {
      const id = memoryId(text);
      const words = wordsOf(agentId, text);
      await table.put({ ...tombKey(agentId, id), at, words: [...words] });
      await table.delete(recordKey(agentId, id));
    },
    async allow(agentId, id) {
      await table.delete(tombKey(agentId, id));
      await succeeds(table.update(recordKey(agentId, id), [remove("supersededBy")], equal("sk", id)));
    },
    async forgotten(agentId) {
      const tombs = await table.query({ pk: `FORGOTTEN#${agentId}` });
      const ids = new Set(tombs.map(({ sk }) => String(sk)));
      const words = tombs.map((tomb) => new Set((tomb.words as unknown[] | undefined)?.map(String)));
      return (text) => {
        if (ids.has(memoryId(text))) return true;
        const said = wordsOf(agentId, text);
        return words.some((gone) => gone.size > 1 && repeats(gone, said));
      };
    },
  };
}

function repeats(gone: ReadonlySet<string>, said: ReadonlySet<string>): boolean {
  const shared = [...gone].filter((word) => said.has(word)).length;
  return shared >= sameWords.ofForgotten * gone.size && shared >= sameWords.ofText * said.size;
}

function wordsOf(agentId: string, text: string): Set<string> {
  const hash = (word: string) =>
    createHash("sha256").update(`${agentId}\0${word}`).digest("hex").slice(0, wordDigits);
  return new Set(termsOf(text).map(hash));
}

function recordOf({ pk: _, sk, ...fields }: Item): MemoryRecord {
  return { ...(fields as unknown as Omit<MemoryRecord, "id">), id: String(sk) };
}

/** The type of a memory when none was given. */
export const usualType: MemoryType = "project";
