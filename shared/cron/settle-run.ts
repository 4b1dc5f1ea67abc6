import type { CronStatus } from "../protocol/cron.ts";
import type { CronTask } from "../session/inbox-entry.ts";
import { any, type Condition, equal } from "../world/expression.ts";
import { succeeds, type Table } from "../world/world.ts";
import { changeJob, type JobChange, jobKey, readJob, type StoredJob } from "./job-item.ts";
import { isOpen, recordRun, runId } from "./run-history.ts";

/** How a job's run ended. */
export interface RunEnd {
  status: CronStatus;
  error?: string;
}

/** An end stays, but a lost run may still end, and one that a late duplicate has skipped may have been accepted. */
const endConditions: Record<CronStatus, Condition | undefined> = {
  ok: undefined,
  error: any(isOpen, equal("status", "lost")),
  skipped: isOpen,
  lost: isOpen,
};

/**
 * Records how a run ended in the history and in the job. Safe to repeat: the job changes once, and last, because the sweep
 * handles a job as long as it has a run. The end of a run that had counted as lost replaces that.
 */
export async function settleCronRun(
  { table, now }: { table: Table; now: () => number },
  { jobId, at, queuedAt, summary }: CronTask,
  { status, error }: RunEnd,
): Promise<void> {
  const ended = now();
  const durationMs = Math.max(0, ended - queuedAt);
  let job = await readJob(table, jobId);
  const run = {
    ...{ id: runId(jobId, at), jobId, ts: queuedAt, status, summary, durationMs },
    ...(error === undefined ? {} : { error }),
    ...(job?.nextRunAtMs === undefined ? {} : { nextRunAtMs: job.nextRunAtMs }),
  };
  await recordRun(table, at, run, endConditions[status]);
  const last = { lastRunAtMs: queuedAt, lastStatus: status, lastError: error, lastDurationMs: durationMs };
  for (; job; job = await readJob(table, jobId)) {
    const isCurrent = job.run?.at === at;
    const wasLost = job.lastStatus === "lost" && job.lastRunAtMs === queuedAt;
    if (!isCurrent && !wasLost) return;
    if (await changeEnded(table, job, isCurrent ? { ...last, run: undefined } : last, ended)) return;
  }
}

/**
 * Changes a job. A removed job without a run is then deleted. A one-shot job without a further run is deleted if `deleteAfterRun` is set and its run succeeded, else disabled.
 * @returns false if it was written or removed since it was read
 */
export async function changeEnded(
  table: Table,
  job: StoredJob,
  change: JobChange,
  now: number,
): Promise<boolean> {
  const { schedule, nextRunAtMs, run, lastStatus, deleteAfterRun, enabled, removed } = { ...job, ...change };
  const isOver = schedule?.kind === "at" && nextRunAtMs === undefined && !run;
  if ((removed && !run) || (isOver && lastStatus === "ok" && deleteAfterRun))
    return succeeds(table.delete(jobKey(job.id), equal("version", job.version)));
  const disabled = isOver && enabled ? { enabled: false } : {};
  return (await changeJob(table, job, { ...change, ...disabled }, now)) !== undefined;
}
