import type { CronStatus } from "../protocol/cron.ts";
import type { CronTask } from "../session/inbox-entry.ts";
import { equal, remove, type Step, set } from "../world/expression.ts";
import { ConditionFailed, succeeds, type Table } from "../world/world.ts";
import { jobKey, type StoredJob, toJob } from "./job-item.ts";
import { recordRun, runId } from "./run-history.ts";
import { freeSlot } from "./run-slots.ts";

/** How a job's run ended. */
export interface RunEnd {
  status: CronStatus;
  error?: string;
}

/**
 * Records how a run ended in the history and in the job, and frees its slot. A one-shot job is removed if `deleteAfterRun` is
 * set and the run succeeded, else disabled. Safe to repeat: the job changes once, and last, because the sweep handles a job
 * as long as it has a run.
 */
export async function settleCronRun(
  { table, now }: { table: Table; now: () => number },
  { jobId, at, queuedAt, summary }: CronTask,
  { status, error }: RunEnd,
): Promise<void> {
  const ended = now();
  const durationMs = Math.max(0, ended - queuedAt);
  const item = await table.get(jobKey(jobId));
  const { nextRunAtMs } = item ? toJob(item) : {};
  await recordRun(table, at, {
    ...{ id: runId(jobId, at), jobId, ts: queuedAt, status, summary, durationMs },
    ...(error === undefined ? {} : { error }),
    ...(nextRunAtMs === undefined ? {} : { nextRunAtMs }),
  });
  await freeSlot(table, jobId, at, ended);
  const job = await endJobRun(table, jobId, at, [
    remove("run"),
    set("lastRunAtMs", queuedAt),
    set("lastStatus", status),
    error === undefined ? remove("lastError") : set("lastError", error),
    set("lastDurationMs", durationMs),
  ]);
  if (job) await finishOneShotJob(table, job, status);
}

/** Undefined when the job was removed. A repeat returns the job's current state. */
async function endJobRun(
  table: Table,
  jobId: string,
  at: number,
  steps: readonly Step[],
): Promise<StoredJob | undefined> {
  try {
    return toJob(await table.update(jobKey(jobId), steps, equal(["run", "at"], at)));
  } catch (error) {
    if (!(error instanceof ConditionFailed)) throw error;
  }
  const item = await table.get(jobKey(jobId));
  return item && toJob(item);
}

/** Removes or disables a one-shot job after its run. A job that was changed meanwhile is not touched. */
export async function finishOneShotJob(
  table: Table,
  job: StoredJob,
  status: CronStatus | undefined,
): Promise<void> {
  if (job.schedule.kind !== "at" || job.nextRunAtMs !== undefined || job.run) return;
  const key = jobKey(job.id);
  const unchanged = equal("version", job.version);
  if (status === "ok" && job.deleteAfterRun) await succeeds(table.delete(key, unchanged));
  else if (job.enabled) await succeeds(table.update(key, [set("enabled", false)], unchanged));
}
