import type {
  ForgottenMemory,
  MemoryRecord,
  MemoryType,
  RecordedOrigin,
} from "../protocol/memory-schemas.ts";
import { countChange } from "../recall/changes.ts";
import { absent, equal, remove, type Step, set, setIfAbsent } from "../world/expression.ts";
import { type Item, type ItemValue, type Key, succeeds, type Table } from "../world/world.ts";
import { memoryId } from "./memory-line.ts";
import { matcherOf, mentionsOf, type Tombstone, tombstoneOf } from "./tombstone.ts";

/**
 * The origins of memories, and which were forgotten. Stored apart from the memory files, so that a writer of a file cannot
 * forge them.
 */
export interface Ledger {
  /** Records an origin of a memory. The best one comes first: see `withOrigin`. A repeat changes nothing. */
  note(agentId: string, record: MemoryRecord): Promise<void>;
  find(agentId: string, id: string): Promise<MemoryRecord | undefined>;
  /** Every record of an agent, by id. */
  all(agentId: string): Promise<Map<string, MemoryRecord>>;
  /** Records that a memory ended, or which one replaced it, and leaves a tombstone that matches only the exact text. */
  supersede(agentId: string, id: string, by: { id?: string; at: number }): Promise<void>;
  /** Records that dreaming promoted a memory. A repeat changes nothing. @returns false when there is no such record */
  promote(agentId: string, id: string, promoted: NonNullable<MemoryRecord["promoted"]>): Promise<boolean>;
  /** Replaces a memory's record by a tombstone, which does not contain the memory's text. */
  forget(agentId: string, text: string, at: number): Promise<void>;
  /** Removes the tombstone and `supersededBy`, because the memory may return. @returns false when there is no tombstone */
  allow(agentId: string, id: string): Promise<boolean>;
  /** Returns a test for texts: the id of the forgotten memory that a text repeats (`matcherOf`). */
  forgotten(agentId: string): Promise<(text: string) => string | undefined>;
  /** Returns a test for texts: whether a forgotten memory can be read from a text (`mentionsOf`). */
  mentioned(agentId: string): Promise<(text: string) => boolean>;
  /** Records where a forgotten memory was last left out of an extraction. */
  suppressed(agentId: string, id: string, last: NonNullable<ForgottenMemory["suppressed"]>): Promise<void>;
  /** The tombstones of an agent, the newest first. */
  tombs(agentId: string): Promise<ForgottenMemory[]>;
}

const recordKey = (agentId: string, id: string): Key => ({ pk: `MEM#${agentId}`, sk: id });
const tombKey = (agentId: string, id: string): Key => ({ pk: `FORGOTTEN#${agentId}`, sk: id });

export function openLedger(table: Table): Ledger {
  const tombsOf = async (agentId: string) => {
    const items = await table.query({ pk: `FORGOTTEN#${agentId}` });
    return new Map(items.map((item) => [String(item.sk), item as unknown as Tombstone]));
  };
  return {
    async note(agentId, record) {
      const { id, ...fields } = record;
      const key = recordKey(agentId, id);
      if (await succeeds(table.put({ ...key, ...(fields as unknown as Item) }, absent("pk")))) return;
      const item = await table.get(key);
      const steps = item ? withOrigin(recordOf(item), record) : [];
      if (steps.length > 0) await succeeds(table.update(key, steps, equal("at", Number(item?.at))));
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
      await countChange(table, agentId);
      if (by.id === undefined) return;
      await succeeds(table.update(recordKey(agentId, id), [set("supersededBy", by.id)], equal("sk", id)));
    },
    promote(agentId, id, promoted) {
      const step = setIfAbsent("promoted", { ...promoted });
      return succeeds(table.update(recordKey(agentId, id), [step], equal("sk", id)));
    },
    async forget(agentId, text, at) {
      const id = memoryId(text);
      await table.put({ ...tombKey(agentId, id), at, ...tombstoneOf(agentId, text) });
      await countChange(table, agentId);
      await table.delete(recordKey(agentId, id));
    },
    async allow(agentId, id) {
      const isAllowed = await succeeds(table.delete(tombKey(agentId, id), equal("sk", id)));
      await succeeds(table.update(recordKey(agentId, id), [remove("supersededBy")], equal("sk", id)));
      return isAllowed;
    },
    forgotten: async (agentId) => matcherOf(agentId, await tombsOf(agentId)),
    mentioned: async (agentId) => mentionsOf(agentId, await tombsOf(agentId)),
    async suppressed(agentId, id, last) {
      await succeeds(table.update(tombKey(agentId, id), [set("suppressed", { ...last })], equal("sk", id)));
    },
    async tombs(agentId) {
      const items = await table.query({ pk: `FORGOTTEN#${agentId}` });
      const tombs = items.map(({ sk, at, words, suppressed }) => ({
        id: String(sk),
        at: Number(at),
        isCorrected: (words as string[]).length === 0,
        ...(suppressed === undefined ? {} : { suppressed: suppressed as ForgottenMemory["suppressed"] }),
      }));
      return tombs.toSorted((a, b) => b.at - a.at);
    },
  };
}

/** The kinds of origins, the best first. Others are worse. */
const kinds: readonly string[] = ["main", "named", "dm", "cron", "system", "mixed"];

/** Max further origins of a memory. */
const maxOthers = 8;

/** The steps that add an origin to a record, as its first one when its kind is better. None when the record has it. */
function withOrigin(old: MemoryRecord, { id: _, type: __, others: ___, ...added }: MemoryRecord): Step[] {
  const { kind, at, by, sessionKey, sessionId, origins, others = [] } = old;
  const first: RecordedOrigin = {
    kind,
    at,
    by,
    ...(sessionKey && { sessionKey }),
    ...(sessionId && { sessionId }),
  };
  const isSame = (one: RecordedOrigin) => one.kind === added.kind && one.sessionId === added.sessionId;
  if ([first, ...others].some(isSame)) return [];
  const rank = (of: string) => (kinds.includes(of) ? kinds.indexOf(of) : kinds.length);
  const known = origins === undefined ? first : { ...first, origins };
  const isBetter = rank(added.kind) < rank(kind);
  const more = [...(isBetter ? [known, ...others] : [...others, added])].slice(0, maxOthers);
  const fields = ["kind", "at", "by", "sessionKey", "sessionId", "origins"] as const;
  const better = fields.map((name) =>
    added[name] === undefined ? remove(name) : set(name, added[name] as ItemValue),
  );
  return [...(isBetter ? better : []), set("others", more as unknown as ItemValue)];
}

function recordOf({ pk: _, sk, ...fields }: Item): MemoryRecord {
  return { ...(fields as unknown as Omit<MemoryRecord, "id">), id: String(sk) };
}

/** The type of a memory when none was given. */
export const usualType: MemoryType = "project";
