import type { Spending } from "../protocol/session-results.ts";
import { absent, any, below, equal, set } from "../world/expression.ts";
import { ConditionFailed, type Key, succeeds, type Table } from "../world/world.ts";
import { LeaseLost } from "./lease.ts";

/** A model's summary of the messages that a compaction removes. */
export interface CompactionText {
  /** The text of the message that replaces them. */
  summary: string;
  /** Lines for the daily memory file. */
  memories?: string;
  /** Spending of the model calls. Absent in a text that an earlier version wrote. */
  spent?: Spending;
}

/**
 * The text is stored for a day: a process that was paused and has lost the session without knowing it finds the text, and
 * does not append memories of its own. Seconds.
 */
const ttlSeconds = 24 * 3600;

function textKey(sessionKey: string): Key {
  return { pk: `S#${sessionKey}`, sk: "COMPACTION" };
}

/** The text of the compaction that began at `at`, if it is stored already. */
export async function readCompactionText(
  table: Table,
  sessionKey: string,
  at: number,
): Promise<CompactionText | undefined> {
  const item = await table.get(textKey(sessionKey));
  return item?.at === at ? (JSON.parse(String(item.body)) as CompactionText) : undefined;
}

/**
 * Stores the text before it is used. The first stored text wins, so that a compaction that is repeated after a crash
 * archives and remembers the same.
 * @returns the text that was stored first
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

/** Changes the stored text, such as to erase a memory. @returns whether it changed */
export async function changeCompactionText(
  table: Table,
  sessionKey: string,
  change: (text: string) => string,
): Promise<boolean> {
  const item = await table.get(textKey(sessionKey));
  if (!item) return false;
  const { summary, memories, ...rest } = JSON.parse(String(item.body)) as CompactionText;
  const text = {
    summary: change(summary),
    ...(memories === undefined ? {} : { memories: change(memories) }),
  };
  const body = JSON.stringify({ ...text, ...rest });
  if (text.summary === summary && text.memories === memories) return false;
  return succeeds(table.update(textKey(sessionKey), [set("body", body)], equal("at", Number(item.at))));
}
