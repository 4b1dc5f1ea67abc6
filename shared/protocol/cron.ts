import * as v from "valibot";
import { peerKinds } from "./channel-accounts.ts";
import { count, idField, modelField, thinkingLevelField } from "./schemas.ts";

/** Epoch milliseconds, up to the largest value of a JavaScript date. */
const instant = count(0, 8.64e15);

/** When a job runs. Times are epoch ms, periods ms. */
export const cronScheduleField = v.variant("kind", [
  v.strictObject({ kind: v.literal("at"), atMs: instant }),
  v.strictObject({
    kind: v.literal("every"),
    everyMs: count(1000, 366 * 86_400_000),
    /** The job runs at whole periods after this time. Absent: the time when the job was added. */
    anchorMs: v.optional(instant),
  }),
  v.strictObject({
    kind: v.literal("cron"),
    /** Minute, hour, day of month, month, day of week. */
    expr: v.pipe(v.string(), v.trim(), v.minLength(1), v.maxLength(256)),
    /** IANA name. Absent: the user's timezone (`userTimezone`). */
    tz: v.optional(v.pipe(v.string(), v.maxLength(64))),
  }),
]);
export type CronSchedule = v.InferOutput<typeof cronScheduleField>;

const taskText = v.pipe(v.string(), v.trim(), v.minLength(1), v.maxLength(20_000));

/**
 * What a job does: it adds an event to the agent's main session, or runs a task in the job's own session.
 */
export const cronSpecField = v.variant("mode", [
  v.strictObject({ mode: v.literal("systemEvent"), text: taskText }),
  v.strictObject({
    mode: v.literal("task"),
    message: taskText,
    /** `provider/id`, an id alone, or both fields. */
    model: v.optional(v.union([v.pipe(v.string(), v.minLength(1), v.maxLength(512)), modelField])),
    thinking: v.optional(thinkingLevelField),
    /** The run fails after this time. */
    timeoutSeconds: v.optional(count(1, 86_400)),
    /** True: the answer goes to a channel. False: nowhere. Absent: to a channel if one is given. */
    deliver: v.optional(v.boolean()),
    /** A channel's name, or `last`: the direct conversation where a current owner last wrote to the agent. */
    channel: v.optional(idField),
    /** The channel's id of the receiver. */
    to: v.optional(idField),
    accountId: v.optional(idField),
    /** Kind of the receiver; default `dm`. */
    peerKind: v.optional(v.picklist(peerKinds)),
    /** An undeliverable answer does not fail the run. */
    bestEffortDeliver: v.optional(v.boolean()),
  }),
]);
export type CronSpec = v.InferOutput<typeof cronSpecField>;

const jobName = v.pipe(v.string(), v.trim(), v.minLength(1), v.maxLength(200));
const jobDescription = v.pipe(v.string(), v.maxLength(2000));

/** The params of a new job. */
export const cronJobField = v.object({
  name: jobName,
  description: v.optional(jobDescription),
  agentId: v.optional(idField),
  enabled: v.optional(v.boolean(), true),
  deleteAfterRun: v.optional(v.boolean()),
  schedule: cronScheduleField,
  spec: cronSpecField,
});

/** A change of a job: an absent field keeps its value. */
export const cronPatchField = v.strictObject({
  name: v.optional(jobName),
  description: v.optional(v.nullable(jobDescription)),
  agentId: v.optional(idField),
  enabled: v.optional(v.boolean()),
  deleteAfterRun: v.optional(v.boolean()),
  schedule: v.optional(cronScheduleField),
  spec: v.optional(cronSpecField),
});

/** How a run ended. `lost`: it was queued, and its session knows nothing of it any more. */
export type CronStatus = "ok" | "error" | "skipped" | "lost";

/** A scheduled job. Times are epoch ms. */
export interface CronJob {
  id: string;
  agentId: string;
  name: string;
  description?: string;
  enabled: boolean;
  /** The job is removed after a successful run if it has no further one. */
  deleteAfterRun?: boolean;
  /** Whose words it may contain, besides the owner's: those that the run had read which wrote it. */
  origins?: string[];
  createdAtMs: number;
  updatedAtMs: number;
  schedule: CronSchedule;
  spec: CronSpec;
  state: CronJobState;
}

export interface CronJobState {
  nextRunAtMs?: number;
  /** Since when a run is in progress. */
  runningAtMs?: number;
  lastRunAtMs?: number;
  lastStatus?: CronStatus;
  lastError?: string;
  lastDurationMs?: number;
}

/** A run in the history. */
export interface CronRun {
  id: string;
  jobId: string;
  /** When it was queued, epoch ms. */
  ts: number;
  /** `ok` only after its end. */
  status: CronStatus | "queued" | "running";
  error?: string;
  /** Where it was queued, and where its answer goes. */
  summary?: string;
  durationMs?: number;
  nextRunAtMs?: number;
}

/** The outcome of one job of `cron.run`. `queued`: the history records how the run ends; an event is `ok` at once. */
export interface CronRunResult {
  jobId: string;
  status: CronStatus | "queued";
  error?: string;
  summary?: string;
  durationMs: number;
  nextRunAtMs?: number;
}

/** Figures about the scheduled jobs. `dueCount`: enabled jobs that are due and have not run yet. */
export interface CronStatusResult {
  enabled: boolean;
  count: number;
  dueCount: number;
  runningCount: number;
  nextRunAtMs?: number;
  maxJobs: number;
  maxConcurrentRuns: number;
  /** The user's timezone (`userTimezone`), in which clients read and show times. */
  timezone: string;
  /** Sessions, jobs and other items that the timer function's sweep could not handle. */
  failing?: FailingItem[];
}

export interface FailingItem {
  /** Its keys in the table, separated by a space. */
  item: string;
  /** In a row. */
  failures: number;
  /** The name of the last error. */
  error: string;
  /** When it last failed, and when the sweep tries it again; epoch ms. */
  at: number;
  retryAt: number;
}
