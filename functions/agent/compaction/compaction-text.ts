import type { Spending } from "../../../shared/protocol/session-results.ts";
import { LeaseLost } from "../../../shared/session/lease.ts";
import { absent, any, below } from "../../../shared/world/expression.ts";
import { ConditionFailed, type Key, type Table } from "../../../shared/world/world.ts";

/** What a model has made of the messages that a compaction takes out. */
export interface CompactionText {
  /** The message that stands for them. */
  summary: string;
  /** What goes into the daily memory file. */
  memories?: string;
  /** What the model calls took. Absent in a text that an earlier version has written. */
  spent?: Spending;
}

/**
 * The text stays for a day after its compaction: a process that was paused meanwhile and does not know that it lost the
 * session finds it, and so remembers nothing of its own. Seconds.
 */
const ttlSeconds = 24 * 3600;

function textKey(sessionKey: string): Key {
  return { pk: `S#${sessionKey}`, sk: "COMPACTION" };
}

/** The text of the compaction that began at `at`, if it is written already. */
export async function readCompactionText(
  table: Table,
  sessionKey: string,
  at: number,
): Promise<CompactionText | undefined> {
  const item = await table.get(textKey(sessionKey));
  return item?.at === at ? (JSON.parse(String(item.body)) as CompactionText) : undefined;
}

/**
 * Writes the text down before anything is done with it. The first text counts, so that whoever repeats a compaction after
 * a crash archives and remembers the same.
 * @returns the text that counts
 * @throws LeaseLost when a later compaction has begun
 */
export async function putCompactionText(
  table: Table,
  sessionKey: string,
  at: number,
  text: CompactionText,
): Promise<CompactionText> {
  const expiresAt = Math.floor(at / 1000) + ttlSeconds;
  const item = { ...textKey(sessionKey), at, expiresAt, body: JSON.stringify(text) };
  try {
    await table.put(item, any(absent("pk"), below("at", at)));
    return text;
  } catch (error) {
    if (!(error instanceof ConditionFailed)) throw error;
  }
  const first = await readCompactionText(table, sessionKey, at);
  if (!first) throw new LeaseLost(sessionKey);
  return first;
}
