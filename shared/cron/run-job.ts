import { isStillOwner } from "../channels/inbound/sender-role.ts";
import type { Configuration } from "../configuration/schema.ts";
import type { CronRunResult } from "../protocol/cron.ts";
import { PeerError } from "../protocol/errors.ts";
import { log } from "../runtime/log.ts";
import { parseModelSelector } from "../session/commands/directives.ts";
import { effectiveModel } from "../session/commands/model-choice.ts";
import type { CronTask, InboxEntry, Overrides } from "../session/inbox-entry.ts";
import { submitEntry } from "../session/intake.ts";
import { readSession } from "../session/sessions.ts";
import { absent, all, equal, type Step, set } from "../world/expression.ts";
import { ConditionFailed, type ItemValue, succeeds, type Table } from "../world/world.ts";
import { cronMessage } from "./cron-message.ts";
import { type Destination, destinationOf } from "./destination.ts";
import { type JobRun, jobKey, type StoredJob, toJob } from "./job-item.ts";
import { type CronWorld, dueSteps, nextRunOf, nextRunSteps, readJob, scheduleNext } from "./plan-run.ts";
import { pruneRuns, recordRun, runId, runIdPrefix } from "./run-history.ts";
import { acquireSlot, freeSlot } from "./run-slots.ts";
import { finishOneShotJob, settleCronRun } from "./settle-run.ts";

/** Time limit of a task's run without `timeoutSeconds`, ms. */
const defaultTimeoutMs = 3_600_000;

const noOwnerText =
  "this job's creator is no longer an owner; edit its message to take it over (gsv cron edit), or remove it";

/** How long a run may wait in its session's inbox before it counts as lost, ms. */
const queueMs = 15 * 60_000;

/** A claimed run that is not submitted is retried after this time, ms: the claimant may have crashed. */
const claimMs = 60_000;

/**
 * Advances one job: submits a run that was claimed but not submitted, ends a lost run, and starts a due run. Safe to repeat,
 * when a schedule fires twice and for the sweep: one conditional write claims a scheduled time, and the id of the run's
 * message contains the job and that time.
 * @param now epoch ms
 * @returns undefined when there was nothing to do
 */
export async function advanceJob(
  world: CronWorld,
  jobId: string,
  now: number,
): Promise<CronRunResult | undefined> {
  const job = await readJob(world.table, jobId);
  if (!job) return undefined;
  const { run, enabled, nextRunAtMs } = job;
  if (run && !run.submitted) return submitRun(world, job, run, now);
  if (run && run.until <= now) return endLost(world, job, run);
  if (!enabled || nextRunAtMs === undefined || nextRunAtMs > now) {
    await finishOneShotJob(world.table, job, job.lastStatus);
    await relist(world.table, job);
    return undefined;
  }
  if (run) return skip(world, job, nextRunAtMs, now, "the previous run has not ended");
  return startRun(world, job, { at: nextRunAtMs, isDue: true }, now);
}

/**
 * Starts a run of a job that has none in progress.
 * @param at identifies the run: the scheduled time, or the time at which a person requested it
 */
export async function startRun(
  world: CronWorld,
  job: StoredJob,
  { at, isDue }: { at: number; isDue: boolean },
  now: number,
): Promise<CronRunResult | undefined> {
  const { table } = world;
  const configuration = await world.configuration.load();
  const { enabled, maxConcurrentRuns } = configuration.cron;
  if (!enabled) return isDue ? skip(world, job, at, now, "cron.enabled is off") : undefined;
  const run: JobRun = { at, since: now, until: now + timeoutOf(job) + queueMs };
  // An event needs no slot: it only adds a message to the main session's inbox.
  const needsSlot = job.spec.mode === "task";
  const slot = { jobId: job.id, at, until: run.until };
  if (needsSlot && !(await acquireSlot(table, slot, maxConcurrentRuns, now))) {
    log("cron.waiting", { jobId: job.id, at });
    // From now on the sweep tries each minute.
    if (isDue) await succeeds(table.update(jobKey(job.id), [set("dueAt", now)], unchanged(job)));
    return undefined;
  }
  const ends = isDue || job.schedule.kind === "at";
  const next = ends ? nextRunOf(job, Math.max(now, at), configuration) : job.nextRunAtMs;
  const claimed = await claim(table, job, run, next, now);
  if (!claimed) {
    // Another invocation has claimed this run and uses its slot, or the run has already ended.
    const left = await readJob(table, job.id);
    if (needsSlot && left?.run?.at !== at) await freeSlot(table, job.id, at, now);
    return undefined;
  }
  return submitRun(world, claimed, run, now, isDue);
}

/** Undefined when the job was changed, or when another invocation has claimed a run. */
async function claim(
  table: Table,
  job: StoredJob,
  run: JobRun,
  next: number | undefined,
  now: number,
): Promise<StoredJob | undefined> {
  const steps: Step[] = [
    set("run", run as unknown as ItemValue),
    ...nextRunSteps(next),
    ...dueSteps({ run: { ...run, until: now + claimMs } }),
  ];
  try {
    return toJob(await table.update(jobKey(job.id), steps, all(unchanged(job), absent("run"))));
  } catch (error) {
    if (error instanceof ConditionFailed) return undefined;
    throw error;
  }
}

/** The condition that the job was not changed and its next run not claimed. */
function unchanged({ version, nextRunAtMs }: StoredJob) {
  const next = nextRunAtMs === undefined ? absent("nextRunAtMs") : equal("nextRunAtMs", nextRunAtMs);
  return all(equal("version", version), next);
}

/** Puts the message of a claimed run into its session, and schedules the job's next run. Safe to repeat. */
async function submitRun(
  world: CronWorld,
  job: StoredJob,
  run: JobRun,
  now: number,
  isDue = true,
): Promise<CronRunResult> {
  const { table } = world;
  const configuration = await world.configuration.load({ fresh: true });
  const destination = await destinationOf(table, configuration, job);
  const summary = `Queued to ${destination.sessionKey}; ${destination.answer}`;
  const task: CronTask = {
    ...{ kind: "cron", jobId: job.id, at: run.at, queuedAt: run.since, summary },
    timeoutMs: timeoutOf(job),
    ...(job.spec.mode === "task" && job.spec.bestEffortDeliver ? { bestEffort: true } : {}),
    ...(job.sender ? { sender: job.sender } : {}),
  };
  const next = job.nextRunAtMs === undefined ? {} : { nextRunAtMs: job.nextRunAtMs };
  const id = runId(job.id, run.at);
  // Before the message: once the run has ended, nothing would detect that these two are missing.
  await scheduleNext(world, job.id, job.nextRunAtMs);
  await recordRun(table, run.at, { id, jobId: job.id, ts: run.since, status: "ok", summary, ...next }, true);
  const refused = isStillOwner(configuration, job.sender)
    ? await waitingEvent(table, job, destination.sessionKey, id)
    : noOwnerText;
  const fault =
    refused ??
    destination.fault ??
    (await submit(world, configuration, job, destination, { task, id, now, isDue }));
  const failed = refused === undefined ? "error" : "skipped";
  if (fault !== undefined) await settleCronRun(world, task, { status: failed, error: fault });
  else if (job.spec.mode === "systemEvent") await settleCronRun(world, task, { status: "ok" });
  await finish(table, job, run);
  await pruneRuns(table, job.id, configuration.cron.maxRunsPerJobHistory);
  log("cron.run", {
    jobId: job.id,
    at: run.at,
    sessionKey: destination.sessionKey,
    failed: fault !== undefined,
  });
  const durationMs = Math.max(0, world.now() - now);
  if (fault !== undefined) return { jobId: job.id, status: failed, error: fault, durationMs, ...next };
  return { jobId: job.id, status: "ok", summary, durationMs, ...next };
}

/** @returns why an event is skipped: one of the same job still waits in the session's inbox, and a second would repeat it */
async function waitingEvent(
  table: Table,
  { id: jobId, spec }: StoredJob,
  sessionKey: string,
  id: string,
): Promise<string | undefined> {
  if (spec.mode !== "systemEvent") return undefined;
  const { inbox = [] } = (await readSession(table, sessionKey)) ?? {};
  const isBefore = (entry: InboxEntry) => entry.id !== id && entry.id.startsWith(runIdPrefix(jobId));
  return inbox.some(isBefore) ? "the previous event still waits in the session" : undefined;
}

/** @returns why the session permanently rejects the message; undefined when it has accepted it */
async function submit(
  world: CronWorld,
  configuration: Configuration,
  job: StoredJob,
  { sessionKey, origin }: Destination,
  { task, id, now, isDue }: { task: CronTask; id: string; now: number; isDue: boolean },
): Promise<string | undefined> {
  const overrides = overridesOf(configuration, sessionKey, job);
  const entry: InboxEntry = {
    ...{ id, at: now, origin, kind: "message" },
    text: cronMessage(job, isDue ? task.at : undefined, now, configuration.userTimezone),
    ...(overrides ? { overrides } : {}),
    ...(job.spec.mode === "task" ? { task } : {}),
  };
  try {
    await submitEntry(world, sessionKey, entry);
    return undefined;
  } catch (error) {
    if (error instanceof PeerError && !error.retryable) return error.message;
    throw error;
  }
}

function overridesOf(
  configuration: Configuration,
  sessionKey: string,
  { spec }: StoredJob,
): Overrides | undefined {
  if (spec.mode !== "task" || (spec.model === undefined && spec.thinking === undefined)) return undefined;
  const { model, thinking } = spec;
  const current = effectiveModel(configuration, sessionKey, {});
  const chosen = typeof model === "string" ? parseModelSelector(model, current) : model;
  return { ...(chosen ? { model: chosen } : {}), ...(thinking ? { thinkingLevel: thinking } : {}) };
}

function timeoutOf({ spec }: StoredJob): number {
  if (spec.mode !== "task" || spec.timeoutSeconds === undefined) return defaultTimeoutMs;
  return spec.timeoutSeconds * 1000;
}

/** Records that a run was submitted. It may have ended meanwhile. */
async function finish(table: Table, job: StoredJob, run: JobRun): Promise<void> {
  const submitted = { ...job, run: { ...run, submitted: true } };
  const steps = [set(["run", "submitted"], true), set("lastRunAtMs", run.since), ...dueSteps(submitted)];
  const isOurs = all(equal(["run", "at"], run.at), equal("version", job.version));
  if (await succeeds(table.update(jobKey(job.id), steps, isOurs))) return;
  const left = await readJob(table, job.id);
  if (left?.run?.at === run.at && !left.run.submitted) {
    // The job was changed meanwhile.
    await succeeds(
      table.update(jobKey(job.id), [set(["run", "submitted"], true)], equal(["run", "at"], run.at)),
    );
  }
  if (left) await relist(table, left);
}

/** Updates when the sweep handles the job next. */
async function relist(table: Table, job: StoredJob): Promise<void> {
  await succeeds(table.update(jobKey(job.id), dueSteps(job), unchanged(job)));
}

/** Ends a submitted run that did not end in time, so that the job can run again. */
async function endLost(world: CronWorld, job: StoredJob, run: JobRun): Promise<undefined> {
  const task: CronTask = { kind: "cron", jobId: job.id, at: run.at, queuedAt: run.since, summary: "Queued" };
  await settleCronRun(world, task, { status: "error", error: "the run was lost: it did not end in time" });
  const left = await readJob(world.table, job.id);
  if (left) await relist(world.table, left);
  return undefined;
}

/** Skips one scheduled time, and records the reason in the history. */
async function skip(
  world: CronWorld,
  job: StoredJob,
  at: number,
  now: number,
  reason: string,
): Promise<CronRunResult | undefined> {
  const { table } = world;
  const configuration = await world.configuration.load();
  const next = nextRunOf(job, Math.max(now, at), configuration);
  const steps = [
    ...nextRunSteps(next),
    ...dueSteps({ ...job, nextRunAtMs: next }),
    set("lastStatus", "skipped"),
    set("lastError", reason),
    ...(next === undefined ? [set("enabled", false)] : []),
  ];
  await scheduleNext(world, job.id, next);
  if (!(await succeeds(table.update(jobKey(job.id), steps, unchanged(job))))) return undefined;
  const nextRun = next === undefined ? {} : { nextRunAtMs: next };
  const skipped = { status: "skipped", error: reason, durationMs: 0, ...nextRun } as const;
  await recordRun(table, at, { id: runId(job.id, at), jobId: job.id, ts: now, ...skipped }, true);
  await pruneRuns(table, job.id, configuration.cron.maxRunsPerJobHistory);
  log("cron.skipped", { jobId: job.id, at, reason });
  return { jobId: job.id, ...skipped };
}
