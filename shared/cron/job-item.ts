import type { CronJob, CronJobState } from "../protocol/cron.ts";
import type { Sender } from "../session/inbox-entry.ts";
import type { Item, Key } from "../world/world.ts";

/** The partition of all jobs, one item each, and of the item that lists the runs in progress. */
export const cronPartition = "CRON";

const jobPrefix = "J#";

export function jobKey(jobId: string): Key {
  return { pk: cronPartition, sk: `${jobPrefix}${jobId}` };
}

/** The job id of an item of `cronPartition`; undefined for an item that is not a job. */
export function jobIdOf(sk: string): string | undefined {
  return sk.startsWith(jobPrefix) ? sk.slice(jobPrefix.length) : undefined;
}

export const jobQuery = { pk: cronPartition, prefix: jobPrefix } as const;

/** The run of a job that is queued or in progress. */
export interface JobRun {
  /** The scheduled time of the run, epoch ms. */
  at: number;
  /** When it started, epoch ms. */
  since: number;
  /** When it counts as lost; epoch ms. */
  until: number;
  /** Its message is in the session's inbox, and the job's next run is scheduled. */
  submitted?: boolean;
}

/** A job as it is stored. `runningAtMs` is `run.since`. */
export interface StoredJob extends Omit<CronJob, "state">, Omit<CronJobState, "runningAtMs"> {
  run?: JobRun;
  /** The person on a channel on whose behalf the agent wrote `spec`; absent for a client. The job runs only while they are an owner. */
  sender?: Sender;
  /** Incremented by every change of the job's definition. */
  version: number;
}

/** Reads a job's item without validation: only code in this folder writes it. */
export function toJob(item: Item): StoredJob {
  return item as unknown as StoredJob;
}

/** What peers see of a job. */
export function toCronJob(stored: StoredJob): CronJob {
  const { id, agentId, name, description, enabled, deleteAfterRun, createdAtMs, updatedAtMs } = stored;
  const { schedule, spec, run, nextRunAtMs, lastRunAtMs, lastStatus, lastError, lastDurationMs } = stored;
  return {
    id,
    agentId,
    name,
    ...(description === undefined ? {} : { description }),
    enabled,
    ...(deleteAfterRun === undefined ? {} : { deleteAfterRun }),
    createdAtMs,
    updatedAtMs,
    schedule,
    spec,
    state: {
      ...(nextRunAtMs === undefined ? {} : { nextRunAtMs }),
      ...(run === undefined ? {} : { runningAtMs: run.since }),
      ...(lastRunAtMs === undefined ? {} : { lastRunAtMs }),
      ...(lastStatus === undefined ? {} : { lastStatus }),
      ...(lastError === undefined ? {} : { lastError }),
      ...(lastDurationMs === undefined ? {} : { lastDurationMs }),
    },
  };
}
