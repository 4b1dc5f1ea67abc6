import { isStillOwner } from "../channels/inbound/sender-role.ts";
import type { Configuration } from "../configuration/schema.ts";
import type { CronRunResult } from "../protocol/cron.ts";
import { PeerError } from "../protocol/errors.ts";
import { log } from "../runtime/log.ts";
import { parseModelSelector } from "../session/commands/directives.ts";
import { effectiveModel } from "../session/commands/model-choice.ts";
import type { CronTask, InboxEntry, Overrides } from "../session/inbox-entry.ts";
import { submitEntry } from "../session/intake.ts";
import type { Table } from "../world/world.ts";
import { cronMessage } from "./cron-message.ts";
import { type Destination, destinationOf } from "./destination.ts";
import { changeJob, readJob, type StoredJob } from "./job-item.ts";
import { type CronWorld, scheduleNext } from "./plan-run.ts";
import { isNew, pruneRuns, recordRun, runId } from "./run-history.ts";
import type { RunningJob } from "./run-slots.ts";
import { settleCronRun } from "./settle-run.ts";

/** Time limit of a task's run without `timeoutSeconds`, ms. */
const defaultTimeoutMs = 3_600_000;

const noOwnerText =
  "this job's creator is no longer an owner; edit its message to take it over (gsv cron edit), or remove it";

/** Puts the message of a claimed run into its session, and schedules the job's next run. Safe to repeat. */
export async function submitRun(world: CronWorld, job: RunningJob, now: number): Promise<CronRunResult> {
  const { table } = world;
  const { run } = job;
  const configuration = await world.configuration.load({ fresh: true });
  const destination = await destinationOf(table, configuration, job);
  const { sessionKey } = destination;
  const summary = `Queued to ${sessionKey}; ${destination.answer}`;
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
  const queued = { id, jobId: job.id, ts: run.since, status: "queued", summary, ...next } as const;
  await recordRun(table, run.at, queued, isNew);
  const refused = isStillOwner(configuration, job.sender) ? undefined : noOwnerText;
  const isForced = run.forced === true;
  const fault =
    refused ??
    destination.fault ??
    (await submit(world, configuration, job, destination, { task, id, now, isForced }));
  const failed = refused === undefined ? "error" : "skipped";
  if (fault !== undefined) await settleCronRun(world, task, { status: failed, error: fault });
  else if (job.spec.mode === "systemEvent") await settleCronRun(world, task, { status: "ok" });
  else await recordSubmitted(table, job, sessionKey, now);
  await pruneRuns(table, job.id, configuration.cron.maxRunsPerJobHistory);
  log("cron.run", { jobId: job.id, at: run.at, sessionKey, failed: fault !== undefined });
  const durationMs = Math.max(0, world.now() - now);
  if (fault !== undefined) return { jobId: job.id, status: failed, error: fault, durationMs, ...next };
  const status = job.spec.mode === "task" ? "queued" : "ok";
  return { jobId: job.id, status, summary, durationMs, ...next };
}

/** Records in the job that its run was submitted, unless the run has ended meanwhile. */
async function recordSubmitted(
  table: Table,
  { id, run, ...rest }: RunningJob,
  sessionKey: string,
  now: number,
): Promise<void> {
  const submitted = { run: { ...run, submitted: true as const, sessionKey }, lastRunAtMs: run.since };
  let job: StoredJob | undefined = { id, run, ...rest };
  while (job?.run?.at === run.at && !job.run.submitted) {
    if (await changeJob(table, job, submitted, now)) return;
    job = await readJob(table, id);
  }
}

/** @returns why the session permanently rejects the message; undefined when it has accepted it */
async function submit(
  world: CronWorld,
  configuration: Configuration,
  job: StoredJob,
  { sessionKey, origin }: Destination,
  { task, id, now, isForced }: { task: CronTask; id: string; now: number; isForced: boolean },
): Promise<string | undefined> {
  const overrides = overridesOf(configuration, sessionKey, job);
  const entry: InboxEntry = {
    ...{ id, at: now, origin, kind: "message" },
    text: cronMessage(job, isForced ? undefined : task.at, now, configuration.userTimezone),
    ...(overrides ? { overrides } : {}),
    ...(job.spec.mode === "task" ? { task } : {}),
    ...(job.origins ? { origins: job.origins } : {}),
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

export function timeoutOf({ spec }: StoredJob): number {
  if (spec.mode !== "task" || spec.timeoutSeconds === undefined) return defaultTimeoutMs;
  return spec.timeoutSeconds * 1000;
}
