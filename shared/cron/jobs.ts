import { randomUUID } from "node:crypto";
import type { Configuration } from "../configuration/schema.ts";
import { joinOrigins, type Origins } from "../origins/origins.ts";
import type { CronJob, CronRunResult } from "../protocol/cron.ts";
import { code, PeerError } from "../protocol/errors.ts";
import type { Params } from "../protocol/methods.ts";
import type { Results } from "../protocol/results.ts";
import { parseModelSelector } from "../session/commands/directives.ts";
import { dueFields } from "../session/due.ts";
import type { Sender } from "../session/inbox-entry.ts";
import { defaultAgentId } from "../session/key/routing.ts";
import { normalizeAgentId } from "../session/key/session-key.ts";
import { absent, equal } from "../world/expression.ts";
import { type Item, succeeds } from "../world/world.ts";
import {
  changeJob,
  dueTimeOf,
  type JobChange,
  jobKey,
  readJob,
  readJobs,
  type StoredJob,
  toCronJob,
} from "./job-item.ts";
import { type CronWorld, nextRunOf, scheduleNext } from "./plan-run.ts";
import { advanceJob } from "./run-job.ts";
import { checkPeriod, checkSchedule } from "./run-times.ts";

/** Maximum number of due jobs that one `cron.run` runs; the schedules run the others. */
const maxAtOnce = 50;

/** The run that writes a job. */
interface JobWriter {
  sender: Sender | undefined;
  origins: Origins;
}

/** Every job, the next to run first. */
export async function allJobs({ table }: Pick<CronWorld, "table">): Promise<StoredJob[]> {
  const jobs = (await readJobs(table)).filter(({ removed }) => !removed);
  const next = ({ nextRunAtMs = Number.POSITIVE_INFINITY }: StoredJob) => nextRunAtMs;
  // Jobs without a next run are sorted by the time when they were added.
  return jobs.sort((a, b) => (next(a) === next(b) ? a.createdAtMs - b.createdAtMs : next(a) - next(b)));
}

/** Implements `cron.status`. */
export async function cronStatus(world: CronWorld): Promise<Results["cron.status"]> {
  const [jobs, { cron, userTimezone }] = await Promise.all([allJobs(world), world.configuration.load()]);
  const now = world.now();
  const next = jobs.flatMap(({ enabled, nextRunAtMs }) =>
    enabled && nextRunAtMs !== undefined ? [nextRunAtMs] : [],
  );
  return {
    enabled: cron.enabled,
    count: jobs.length,
    dueCount: next.filter((at) => at <= now).length,
    runningCount: jobs.filter(({ run }) => run && !run.tentative).length,
    ...(next.length > 0 ? { nextRunAtMs: Math.min(...next) } : {}),
    maxJobs: cron.maxJobs,
    maxConcurrentRuns: cron.maxConcurrentRuns,
    timezone: userTimezone,
  };
}

/** Implements `cron.list`. */
export async function listJobs(
  world: CronWorld,
  { agentId, includeDisabled, limit, offset }: Params<"cron.list">,
): Promise<Results["cron.list"]> {
  const wanted = agentId === undefined ? undefined : normalizeAgentId(agentId);
  const all = (await allJobs(world)).filter(
    (job) => (wanted === undefined || job.agentId === wanted) && (includeDisabled || job.enabled),
  );
  const jobs = all.slice(offset, offset + limit).map(toCronJob);
  return { jobs, count: jobs.length };
}

/**
 * Implements `cron.add`.
 * @param writer the agent's run, if it adds the job: the person on a channel on whose behalf it works, and whose words it has
 * read. Undefined for a client
 * @throws PeerError 400 for an invalid schedule or model, and when there are `cron.maxJobs` jobs
 */
export async function addJob(
  world: CronWorld,
  params: Params<"cron.add">,
  writer?: JobWriter,
): Promise<CronJob> {
  const { table } = world;
  const configuration = await world.configuration.load();
  const now = world.now();
  const { name, description, enabled, deleteAfterRun, schedule, spec } = params;
  checkJob({ schedule, spec }, now, configuration, enabled);
  const { maxJobs } = configuration.cron;
  if ((await allJobs(world)).length >= maxJobs)
    throw new PeerError(
      code.badRequest,
      `there are ${maxJobs} jobs already (cron.maxJobs): remove one first`,
    );
  const job: StoredJob = {
    id: randomUUID(),
    agentId: normalizeAgentId(params.agentId ?? defaultAgentId(configuration.agents.list)),
    name,
    ...(description === undefined ? {} : { description }),
    enabled,
    ...(deleteAfterRun === undefined ? {} : { deleteAfterRun }),
    ...{ createdAtMs: now, updatedAtMs: now, schedule, spec, version: 1 },
    ...(writer?.sender ? { sender: writer.sender } : {}),
    ...(writer && writer.origins.length > 0 ? { origins: [...writer.origins] } : {}),
  };
  const next = enabled ? nextRunOf(job, now, configuration) : undefined;
  const planned: StoredJob = next === undefined ? job : { ...job, nextRunAtMs: next };
  const key = jobKey(job.id);
  const dueAt = dueTimeOf(planned, now);
  const index = dueAt === undefined ? {} : dueFields(key, dueAt);
  await table.put({ ...(planned as unknown as Item), ...index, ...key }, absent("pk"));
  await scheduleNext(world, job.id, next);
  return toCronJob(planned);
}

function checkJob(
  { schedule, spec }: Pick<StoredJob, "schedule" | "spec">,
  now: number,
  configuration: Configuration,
  enabled: boolean,
): void {
  // A disabled one-shot job may have a time in the past.
  if (enabled || schedule.kind !== "at") checkSchedule(schedule, now, configuration.userTimezone);
  // A job of an earlier version may have a shorter period; disabling it must still work.
  if (enabled) checkPeriod(schedule);
  if (spec.mode !== "task" || typeof spec.model !== "string") return;
  if (!parseModelSelector(spec.model, configuration.model))
    throw new PeerError(code.badRequest, `spec.model: "${spec.model}" is neither provider/id nor an id`);
}

/**
 * Implements `cron.update`. A new schedule, or enabling the job, computes its next run again.
 * @param writer as for `addJob`. A new `spec` makes its person the job's sender. What a client writes is the owner's; a run's
 * words add to the job's
 * @throws PeerError 404 for an unknown job, 400 as `addJob`
 */
export async function updateJob(
  world: CronWorld,
  { id, patch }: Params<"cron.update">,
  writer?: JobWriter,
): Promise<CronJob> {
  const configuration = await world.configuration.load();
  for (;;) {
    const job = await existing(world, id);
    const now = world.now();
    const { description, agentId, ...given } = patch;
    const change: JobChange = {
      ...withoutUndefined(given),
      ...(description === undefined ? {} : { description: description ?? undefined }),
      ...(agentId === undefined ? {} : { agentId: normalizeAgentId(agentId) }),
      ...(given.spec ? { sender: writer?.sender } : {}),
      ...(writer ? added(job, writer) : given.spec ? { origins: undefined } : {}),
      updatedAtMs: now,
    };
    const changed = { ...job, ...withoutUndefined(change) };
    const isReplanned = given.schedule !== undefined || given.enabled !== undefined;
    if (isReplanned || given.spec) checkJob(changed, now, configuration, isReplanned && changed.enabled);
    // A time that has run must not come again, not even if this clock is slow.
    const after = Math.max(now, job.run?.at ?? 0, job.lastRunAtMs ?? 0);
    if (isReplanned)
      change.nextRunAtMs = changed.enabled ? nextRunOf(changed, after, configuration) : undefined;
    const written = await changeJob(world.table, job, change, now);
    if (!written) continue;
    if (isReplanned) await scheduleNext(world, id, change.nextRunAtMs);
    return toCronJob(written);
  }
}

function added(job: StoredJob, writer: JobWriter): Pick<JobChange, "origins"> {
  const origins = joinOrigins(job.origins, writer.origins);
  return origins.length === 0 ? {} : { origins };
}

function withoutUndefined<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
}

/** Implements `cron.remove`. A run that has a slot continues, and the history stays. @throws PeerError 404 */
export async function removeJob(world: CronWorld, id: string): Promise<void> {
  const { table } = world;
  let job: StoredJob | undefined = await existing(world, id);
  const removed = { removed: true, enabled: false, nextRunAtMs: undefined } as const;
  while (job && !job.removed) {
    const written =
      job.run && !job.run.tentative
        ? await changeJob(table, job, removed, world.now())
        : await succeeds(table.delete(jobKey(id), equal("version", job.version)));
    if (written) return;
    job = await readJob(table, id);
  }
}

/**
 * Implements `cron.run`: runs one job or all jobs if they are due, or (`force`) one job now.
 * @throws PeerError 404 for an unknown job, 400 for `force` without a job, 409 when cron is disabled
 */
export async function runJobs(
  world: CronWorld,
  { id, mode }: Params<"cron.run">,
): Promise<Results["cron.run"]> {
  if (mode === "force" && id === undefined)
    throw new PeerError(code.badRequest, "id: is needed with mode force; name the job to run");
  const { cron } = await world.configuration.load();
  if (!cron.enabled)
    throw new PeerError(code.conflict, "scheduled jobs are switched off: set cron.enabled to true");
  const named = id === undefined ? await allJobs(world) : [await existing(world, id)];
  const results: CronRunResult[] = [];
  const now = world.now();
  const isDue = ({ enabled, nextRunAtMs }: StoredJob) =>
    enabled && nextRunAtMs !== undefined && nextRunAtMs <= now;
  const meant = mode === "force" ? named : named.filter(isDue).slice(0, maxAtOnce);
  for (const { id: jobId } of meant) {
    const result = await advanceJob(world, jobId, now, mode === "force" ? { forcedAt: now } : {});
    if (result) results.push(result);
  }
  return { ok: true, ran: results.filter(({ status }) => status !== "skipped").length, results };
}

async function existing(world: CronWorld, id: string): Promise<StoredJob> {
  const job = await readJob(world.table, id);
  if (job && !job.removed) return job;
  throw new PeerError(code.notFound, `there is no job ${id}; gsv cron list shows them`);
}
