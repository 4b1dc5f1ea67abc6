import type { CronRun } from "../protocol/cron.ts";
import { absent, type Condition, equal, set } from "../world/expression.ts";
import { type Item, succeeds, type Table } from "../world/world.ts";

/** The partition of the runs of all jobs, including removed jobs: by job, then by time. */
const runPartition = "CRONRUN";

/** TTL of a run in the history, seconds. */
const keptSeconds = 90 * 24 * 3600;

const digits = 16;

/** The id of a job's run at one scheduled time. It is also the id of the run's message. */
export function runId(jobId: string, at: number): string {
  return `${runIdPrefix(jobId)}${at}`;
}

/** The prefix of the ids of all runs of a job. */
export function runIdPrefix(jobId: string): string {
  return `cron-${jobId}-`;
}

function runKey(jobId: string, at: number) {
  return { pk: runPartition, sk: `${jobId}#${String(at).padStart(digits, "0")}` };
}

/** The conditions of writes that must not replace how a run ended: it is new, or its end (`durationMs`) is unknown. */
export const isNew = absent("pk");
export const isOpen = absent("durationMs");

/**
 * Writes a run into the history.
 * @param at the scheduled time of the run, epoch ms
 */
export async function recordRun(
  table: Table,
  at: number,
  run: CronRun,
  condition?: Condition,
): Promise<void> {
  const expiresAt = Math.floor(run.ts / 1000) + keptSeconds;
  const item = { ...(run as unknown as Item), ...runKey(run.jobId, at), expiresAt };
  await succeeds(table.put(item, condition));
}

/** Whether the history has a run. */
export async function hasRun(table: Table, jobId: string, at: number): Promise<boolean> {
  return (await table.get(runKey(jobId, at))) !== undefined;
}

/** Records that the model is called for a queued run. */
export async function recordRunning(
  table: Table,
  { jobId, at }: { jobId: string; at: number },
): Promise<void> {
  await succeeds(table.update(runKey(jobId, at), [set("status", "running")], equal("status", "queued")));
}

/** Deletes the oldest runs of a job, so that `max` remain. */
export async function pruneRuns(table: Table, jobId: string, max: number): Promise<void> {
  const items = await table.query({ pk: runPartition, prefix: `${jobId}#`, descending: true });
  for (const { pk, sk } of items.slice(max)) await table.delete({ pk: String(pk), sk: String(sk) });
}

/**
 * Runs of one job or of all, newest first.
 * @param now epoch ms; expired runs that are not deleted yet are skipped
 */
export async function listRuns(
  table: Table,
  { jobId, offset, limit }: { jobId?: string | undefined; offset: number; limit: number },
  now: number,
): Promise<CronRun[]> {
  const query =
    jobId === undefined
      ? { pk: runPartition }
      : { pk: runPartition, prefix: `${jobId}#`, descending: true, limit: offset + limit };
  const items = await table.query(query);
  const runs = items
    .filter(({ expiresAt }) => Number(expiresAt) > now / 1000)
    .map(({ pk: _pk, sk: _sk, expiresAt: _expiresAt, ...run }) => run as unknown as CronRun);
  runs.sort((a, b) => b.ts - a.ts);
  return runs.slice(offset, offset + limit);
}
