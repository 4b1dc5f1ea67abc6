import type { FailingItem } from "../protocol/cron.ts";
import type { Key, Table } from "../world/world.ts";

const partition = "FAILING";

/** Delays between tries of a failing item, ms: the first, which is less than a sweep's interval, doubles up to the second. */
const delaysMs = [30_000, 3_600_000] as const;

/** An item that has not failed again this long after it was to be retried is no longer failing, ms: some sweeps may fail. */
const forgottenMs = 10 * 60_000;

const nameOf = ({ pk, sk }: Key) => `${pk} ${sk}`;

/** The items that the sweep could not handle, by name. */
export async function readFailing(
  table: Pick<Table, "query">,
  now: number,
): Promise<ReadonlyMap<string, FailingItem>> {
  const found = (await table.query({ pk: partition })) as unknown as (FailingItem & Key)[];
  return new Map(
    found
      .filter(({ retryAt }) => retryAt + forgottenMs > now)
      .map(({ sk: item, failures, error, at, retryAt }) => [item, { item, failures, error, at, retryAt }]),
  );
}

/** Handles an item unless it has failed and is not yet to be retried. Records its failure, or that it no longer fails. */
export async function tryItem<T>(
  table: Table,
  key: Key,
  failing: ReadonlyMap<string, FailingItem> | undefined,
  now: number,
  handle: () => Promise<T>,
): Promise<T | undefined> {
  const sk = nameOf(key);
  const before = failing?.get(sk);
  if (before && before.retryAt > now) return undefined;
  try {
    const result = await handle();
    if (before) await table.delete({ pk: partition, sk });
    return result;
  } catch (error) {
    const failures = (before?.failures ?? 0) + 1;
    const [shortest, longest] = delaysMs;
    const retryAt = now + Math.min(shortest * 2 ** (failures - 1), longest);
    const expiresAt = Math.ceil((retryAt + forgottenMs) / 1000);
    const kind = error instanceof Error ? error.name : "unknown";
    await table.put({ pk: partition, sk, failures, error: kind, at: now, retryAt, expiresAt });
    throw error;
  }
}
