import type { CronJob, CronJobState } from "../protocol/cron.ts";
import { dueSteps, notDueSteps } from "../session/due.ts";
import type { Sender } from "../session/inbox-entry.ts";
import { scheduleGraceMs } from "../session/state.ts";
import { changeItem } from "../world/change-item.ts";
import { remove, set } from "../world/expression.ts";
import type { Item, ItemValue, Key, Table } from "../world/world.ts";

/** The partition of all jobs, one item each. The only state of a job and of its run is this item. */
export const cronPartition = "CRON";

const jobPrefix = "J#";

export function jobKey(jobId: string): Key {
  return { pk: cronPartition, sk: `${jobPrefix}${jobId}` };
}

/** The job id of an item of `cronPartition`; undefined for an item that is not a job. */
export function jobIdOf(sk: string): string | undefined {
  return sk.startsWith(jobPrefix) ? sk.slice(jobPrefix.length) : undefined;
}

/** The run of a job that is queued or in progress. Edits of the job do not change it. */
export interface JobRun {
  /** The scheduled time of the run, or when a person requested it; epoch ms. It identifies the run. */
  at: number;
  /** When it was claimed, epoch ms. */
  since: number;
  /** When the sweep checks whether it was lost; epoch ms. */
  until: number;
  /** A person requested it. */
  forced?: true;
  /** It has no slot yet and may be given up; its time is still the job's next one. */
  tentative?: true;
  /** Its message is in the session's inbox, and the job's next run is scheduled. */
  submitted?: true;
  /** The session with its message. */
  sessionKey?: string;
}

/** A job as it is stored. `runningAtMs` is `run.since`. */
export interface StoredJob extends Omit<CronJob, "state">, Omit<CronJobState, "runningAtMs"> {
  run?: JobRun;
  /** The person on a channel on whose behalf the agent wrote `spec`; absent for a client. The job runs only while they are an owner. */
  sender?: Sender;
  /** The job's epoch: every write requires the version that it has read, and increments it. */
  version: number;
  /** When the sweep handles the job, epoch ms. */
  dueAt?: number;
  /** The job was removed while its run was in progress. Its item remains until that ends, because the run has a slot. */
  removed?: true;
}

/** Reads a job's item without validation: only code in this folder writes it. */
export function toJob(item: Item): StoredJob {
  return item as unknown as StoredJob;
}

export async function readJob(table: Table, jobId: string): Promise<StoredJob | undefined> {
  const item = await table.get(jobKey(jobId));
  return item && toJob(item);
}

/** Every job, in no order. */
export async function readJobs(table: Table): Promise<StoredJob[]> {
  return (await table.query({ pk: cronPartition, prefix: jobPrefix })).map(toJob);
}

/** New values of a job's fields; undefined removes one. */
export type JobChange = { [Name in keyof StoredJob]?: StoredJob[Name] | undefined };

/**
 * Changes a job, which also determines again when the sweep handles it.
 * @returns the job as written; undefined if it was written or removed since it was read
 */
export async function changeJob(
  table: Table,
  job: StoredJob,
  change: JobChange,
  now: number,
): Promise<StoredJob | undefined> {
  const steps = Object.entries(change).map(([name, value]) =>
    value === undefined ? remove(name) : set(name, value as unknown as ItemValue),
  );
  const key = jobKey(job.id);
  const { nextRunAtMs, run } = { ...job, ...change };
  const dueAt = dueTimeOf({ nextRunAtMs, run }, now);
  const due = dueAt === undefined ? notDueSteps : dueSteps(key, dueAt);
  const item = await changeItem(table, key, job, [...steps, ...due]);
  return item && toJob(item);
}

/** A claimed run that is not submitted is continued after this time, ms: the claimant may have crashed. */
const claimMs = 60_000;

/**
 * When the sweep handles a job, epoch ms: when its claimant may have crashed, when its run may be lost, after its next
 * run was due, or in the next minute if its run was due and waits for a slot.
 */
export function dueTimeOf(
  { nextRunAtMs, run }: Pick<JobChange, "nextRunAtMs" | "run">,
  now: number,
): number | undefined {
  const next = nextRunAtMs === undefined || nextRunAtMs <= now ? nextRunAtMs : nextRunAtMs + scheduleGraceMs;
  const check = run && (run.submitted ? run.until : run.since + claimMs);
  const times = run && !run.submitted ? [check] : [check, next];
  return times.filter((at) => at !== undefined).sort((a, b) => a - b)[0];
}

/** What peers see of a job. */
export function toCronJob(stored: StoredJob): CronJob {
  const { id, agentId, name, description, enabled, deleteAfterRun, createdAtMs, updatedAtMs, origins } =
    stored;
  const { schedule, spec, run, nextRunAtMs, lastRunAtMs, lastStatus, lastError, lastDurationMs } = stored;
  return {
    id,
    agentId,
    name,
    ...(description === undefined ? {} : { description }),
    enabled,
    ...(deleteAfterRun === undefined ? {} : { deleteAfterRun }),
    ...(origins === undefined ? {} : { origins }),
    createdAtMs,
    updatedAtMs,
    schedule,
    spec,
    state: {
      ...(nextRunAtMs === undefined ? {} : { nextRunAtMs }),
      ...(!run || run.tentative ? {} : { runningAtMs: run.since }),
      ...(lastRunAtMs === undefined ? {} : { lastRunAtMs }),
      ...(lastStatus === undefined ? {} : { lastStatus }),
      ...(lastError === undefined ? {} : { lastError }),
      ...(lastDurationMs === undefined ? {} : { lastDurationMs }),
    },
  };
}
