import type { Configuration } from "../configuration/schema.ts";
import type { CronRunResult } from "../protocol/cron.ts";
import { log } from "../runtime/log.ts";
import type { CronTask } from "../session/inbox-entry.ts";
import { cronSessionKey, mainSessionKey } from "../session/key/session-key.ts";
import { readSession } from "../session/sessions.ts";
import { whyStopped } from "../spend/stopped-work.ts";
import type { Table } from "../world/world.ts";
import { changeJob, type JobRun, readJob, type StoredJob } from "./job-item.ts";
import { type CronWorld, nextRunOf, scheduleNext } from "./plan-run.ts";
import { hasRun, isNew, pruneRuns, recordRun, runId, runIdPrefix } from "./run-history.ts";
import { admitRun, type RunningJob, rivalsOf } from "./run-slots.ts";
import { changeEnded, settleCronRun } from "./settle-run.ts";
import { submitRun, timeoutOf } from "./submit-run.ts";

/** How long a run may wait in its session's inbox before the sweep checks whether it was lost, ms. */
const queueMs = 15 * 60_000;

/** What one look at a job led to. "changed": another writer was first, so the job has to be read again. */
type Outcome = CronRunResult | undefined | "changed";

/** Why a job is advanced; epoch ms. */
interface Reason {
  /** Its schedule for this time fired: ignored unless it is the time of the next run or of the current one. */
  firedAt?: number;
  /** A person requests a run that is not due; this time identifies the run. */
  forcedAt?: number;
}

/**
 * Advances one job: continues a run that was claimed but not submitted, ends a lost run, and starts a due run. Safe to repeat,
 * when a schedule fires twice and for the sweep: each step is one conditional write of the job, and the id of the run's message
 * contains the job and the time.
 * @param now epoch ms
 * @returns undefined when there was nothing to do
 */
export async function advanceJob(
  world: CronWorld,
  jobId: string,
  now: number,
  reason: Reason = {},
): Promise<CronRunResult | undefined> {
  const { forcedAt } = reason;
  for (let isAgain = false; ; isAgain = true) {
    const job = await readJob(world.table, jobId);
    // Another process may have continued the requested run to its end.
    if (isAgain && forcedAt !== undefined && !job?.run && (await hasRun(world.table, jobId, forcedAt)))
      return { jobId, status: "queued", durationMs: 0 };
    const outcome = job && (await advance(world, job, now, reason));
    if (outcome !== "changed") return outcome;
  }
}

async function advance(
  world: CronWorld,
  job: StoredJob,
  now: number,
  { firedAt, forcedAt }: Reason,
): Promise<Outcome> {
  const { run, enabled, nextRunAtMs } = job;
  if (firedAt !== undefined && firedAt !== nextRunAtMs && firedAt !== run?.at) return undefined;
  const isMeant = forcedAt === undefined || run?.at === forcedAt;
  if (run && !run.submitted && isMeant) return continueRun(world, { ...job, run }, now);
  if (forcedAt !== undefined) {
    if (run) return refusal(job, "a run of this job is in progress");
    return startRun(world, job, { at: forcedAt, forced: true }, now);
  }
  if (run && run.until <= now) return checkLost(world, job, run, now);
  if (!enabled || nextRunAtMs === undefined || nextRunAtMs > now) return relist(world, job, now);
  if (run) return skip(world, job, nextRunAtMs, now, "the previous run has not ended");
  return startRun(world, job, { at: nextRunAtMs }, now);
}

/** The result of a forced run that does not start. */
function refusal({ id }: StoredJob, error: string): CronRunResult {
  return { jobId: id, status: "skipped", error, durationMs: 0 };
}

/** Updates when the sweep handles a job that it found in vain. */
async function relist({ table }: CronWorld, job: StoredJob, now: number): Promise<Outcome> {
  if (job.dueAt !== undefined && job.dueAt <= now) {
    if (!(await changeEnded(table, job, {}, now))) return "changed";
  }
  return undefined;
}

/** Claims a run of a job that has none. */
async function startRun(
  world: CronWorld,
  job: StoredJob,
  { at, forced }: Pick<JobRun, "at" | "forced">,
  now: number,
): Promise<Outcome> {
  const { table } = world;
  const configuration = await world.configuration.load();
  const { cron } = configuration;
  if (!cron.enabled) return forced ? undefined : skip(world, job, at, now, "cron.enabled is off");
  const isTask = job.spec.mode === "task";
  const reason = isTask
    ? !forced && (await whyUnpaid(table, configuration, job, now))
    : await waitingEvent(table, configuration, job);
  if (reason) return forced ? refusal(job, reason) : skip(world, job, at, now, reason);
  if (isTask && (await rivalsOf(table, job)).length >= cron.maxConcurrentRuns)
    return waitForSlot(world, job, forced, now);
  const until = now + timeoutOf(job) + queueMs;
  const run: JobRun = { at, since: now, until, ...(forced ? { forced } : {}) };
  const nextRunAtMs = await nextAfter(world, { ...job, run }, now);
  const change = isTask ? { run: { ...run, tentative: true as const } } : { run, nextRunAtMs };
  const claimed = await changeJob(table, job, change, now);
  return claimed ? continueRun(world, { ...claimed, run: change.run }, now) : "changed";
}

/** @returns why no budget pays for a task; undefined if one does, or if none limits it */
function whyUnpaid(
  table: Table,
  configuration: Configuration,
  { id: jobId, agentId }: StoredJob,
  now: number,
): Promise<string | undefined> {
  const payer = { kind: "cron", agentId, jobId, sessionKey: cronSessionKey(agentId, jobId) } as const;
  return whyStopped(table, configuration, payer, now);
}

/**
 * Why an event does not start: the job's previous one still waits in the session's inbox, and a second would repeat it. Decided
 * before the claim: whoever continues a claimed run must not decide otherwise than a process that died.
 */
async function waitingEvent(
  table: Table,
  { session }: Configuration,
  { id, agentId }: StoredJob,
): Promise<string | undefined> {
  const { inbox = [] } = (await readSession(table, mainSessionKey(agentId, session.mainKey))) ?? {};
  const isWaiting = inbox.some((entry) => entry.id.startsWith(runIdPrefix(id)));
  return isWaiting ? "the previous event still waits in the session" : undefined;
}

/** Continues a claimed run: gives it a slot, and submits it. */
async function continueRun(world: CronWorld, job: RunningJob, now: number): Promise<Outcome> {
  if (!job.run.tentative) return submitRun(world, job, now);
  const { cron } = await world.configuration.load();
  const next = await nextAfter(world, job, now);
  const admitted = await admitRun(world.table, job, { max: cron.maxConcurrentRuns, next }, now);
  if (admitted === "waiting") return waitForSlot(world, job, job.run.forced, now);
  return admitted === "changed" ? admitted : submitRun(world, admitted, now);
}

/** The run after a claimed one. A forced run leaves the schedule unchanged, except that of a one-shot job. */
async function nextAfter(world: CronWorld, job: RunningJob, now: number): Promise<number | undefined> {
  if (job.run.forced && job.schedule.kind !== "at") return job.nextRunAtMs;
  return nextRunOf(job, Math.max(now, job.run.at), await world.configuration.load());
}

/** A due run waits until the sweep, which now tries each minute, finds a free slot; a forced run does not. */
async function waitForSlot(
  world: CronWorld,
  job: StoredJob,
  forced: true | undefined,
  now: number,
): Promise<Outcome> {
  if (forced) return refusal(job, "cron.maxConcurrentRuns runs are in progress; try again");
  log("cron.waiting", { jobId: job.id, at: job.nextRunAtMs });
  if (job.dueAt !== undefined && job.dueAt > now) await changeJob(world.table, job, {}, now);
  return undefined;
}

/** Ends a submitted run that its session does not have any more. One that the session has is checked again later. */
async function checkLost(world: CronWorld, job: StoredJob, run: JobRun, now: number): Promise<Outcome> {
  const { table } = world;
  const session = await readSession(table, run.sessionKey ?? cronSessionKey(job.agentId, job.id));
  const id = runId(job.id, run.at);
  if (session?.run?.runId === id || session?.inbox.some((entry) => entry.id === id)) {
    const kept = await changeJob(table, job, { run: { ...run, until: now + queueMs } }, now);
    return kept ? undefined : "changed";
  }
  const task: CronTask = { kind: "cron", jobId: job.id, at: run.at, queuedAt: run.since, summary: "Queued" };
  await settleCronRun(world, task, { status: "lost", error: "the run was lost: it did not end in time" });
  return undefined;
}

/** Skips one scheduled time, and records the reason in the history. */
async function skip(
  world: CronWorld,
  job: StoredJob,
  at: number,
  now: number,
  reason: string,
): Promise<Outcome> {
  const { table } = world;
  const configuration = await world.configuration.load();
  const next = nextRunOf(job, Math.max(now, at), configuration);
  await scheduleNext(world, job.id, next);
  const last = { lastStatus: "skipped", lastError: reason } as const;
  const change = { nextRunAtMs: next, ...last, ...(next === undefined ? { enabled: false } : {}) };
  if (!(await changeJob(table, job, change, now))) return "changed";
  const nextRun = next === undefined ? {} : { nextRunAtMs: next };
  const skipped = { status: "skipped", error: reason, durationMs: 0, ...nextRun } as const;
  await recordRun(table, at, { id: runId(job.id, at), jobId: job.id, ts: now, ...skipped }, isNew);
  await pruneRuns(table, job.id, configuration.cron.maxRunsPerJobHistory);
  log("cron.skipped", { jobId: job.id, at, reason });
  return { jobId: job.id, ...skipped };
}
