import { createHash } from "node:crypto";
import type { LoggedCall } from "../protocol/approvals.ts";
import type { Item, Key, Table } from "../world/world.ts";

/** Entries are kept for this time. */
const keptDays = 90;

/** Max length of a call's arguments and of its error in the log, in characters. The transcript has the whole. */
const maxText = { args: 1000, error: 300 };

/** Calls of one item: with these lengths it stays below the table's limit. */
const callsPerItem = 40;

/** One partition a month: `2026-11`. */
const partitionOf = (at: number) => `DECISIONS#${new Date(at).toISOString().slice(0, 7)}`;

/** The calls of one step, which were decided about together. */
export interface DecidedStep {
  sessionKey: string;
  runId: string;
  step: number;
  /** When it was decided, epoch ms. */
  at: number;
  calls: readonly Omit<LoggedCall, "sessionKey" | "runId" | "step" | "at">[];
}

/** Logs what was decided about the calls of a step, and how they ended. Safe to repeat: the first entry stays. */
export async function logDecisions(table: Table, { calls, ...step }: DecidedStep): Promise<void> {
  const { sessionKey, runId, at } = step;
  const name = createHash("sha256")
    .update(JSON.stringify([sessionKey, runId, step.step]))
    .digest("hex")
    .slice(0, 16);
  const expiresAt = Math.floor(at / 1000) + keptDays * 86_400;
  const bounded = calls.map(({ args, error, ...call }) => ({
    ...call,
    args: cut(args, maxText.args),
    ...(error === undefined ? {} : { error: cut(error, maxText.error) }),
  }));
  const items: (Item & Key)[] = [];
  for (let start = 0; start < bounded.length; start += callsPerItem) {
    const part = bounded.slice(start, start + callsPerItem) as unknown as Item[string];
    const sk = `${String(at).padStart(15, "0")}#${name}#${String(start).padStart(4, "0")}`;
    items.push({ pk: partitionOf(at), sk, expiresAt, ...step, calls: part });
  }
  await Promise.all(items.map((item) => table.put(item)));
}

function cut(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max).toWellFormed()}…`;
}

/**
 * The newest calls that were decided about and have ended, oldest first.
 * @param sessionKey only those of this session
 */
export async function listDecisions(
  table: Pick<Table, "query">,
  now: number,
  limit: number,
  sessionKey?: string,
): Promise<LoggedCall[]> {
  const found: LoggedCall[] = [];
  const oldest = now - keptDays * 86_400_000;
  for (const pk of months(now, oldest)) {
    const items = await table.query({ pk, descending: true, ...(sessionKey ? {} : { limit }) });
    for (const { pk: _, sk: __, expiresAt: ___, calls, ...step } of items) {
      const { at, sessionKey: of } = step as unknown as DecidedStep;
      if (at < oldest || (sessionKey !== undefined && of !== sessionKey)) continue;
      const inStep = (calls as unknown as DecidedStep["calls"]).map((call) => ({ ...step, ...call }));
      found.push(...(inStep as LoggedCall[]).reverse());
    }
    if (found.length >= limit) break;
  }
  return found.slice(0, limit).reverse();
}

/** The partitions from a time back to another, newest first. */
function months(now: number, oldest: number): string[] {
  const days = Array.from({ length: keptDays }, (_, day) => now - day * 86_400_000);
  return [...new Set([...days, oldest].map(partitionOf))];
}
