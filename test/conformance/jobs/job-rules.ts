import { type StoredJob, toJob } from "../../../shared/cron/job-item.ts";
import type { InboxEntry } from "../../../shared/session/inbox-entry.ts";
import { scheduleGraceMs } from "../../../shared/session/state.ts";
import type { Item } from "../../../shared/world/world.ts";
import { itemName, type Snapshot } from "../model/snapshot.ts";
import { dueAt, maxRuns, sessionOf } from "./job-programs.ts";

/** A claim may be left alone for this long, ms. */
const claimMs = 60_000;

export function jobsIn({ items }: Snapshot): StoredJob[] {
  return [...items.values()].filter(({ sk }) => sk.startsWith("J#")).map(toJob);
}

function runIn({ items }: Snapshot, jobId: string, at: number): Item | undefined {
  return items.get(itemName({ pk: "CRONRUN", sk: `${jobId}#${String(at).padStart(16, "0")}` }));
}

/** The entries that wait in the session of a job. */
export function inboxOf({ items }: Snapshot, jobId: string): InboxEntry[] {
  return (items.get(itemName(sessionOf(jobId)))?.inbox ?? []) as unknown as InboxEntry[];
}

/** The rules that a change of the table breaks. */
export function jobFaults(before: Snapshot, after: Snapshot): string[] {
  const old = new Map(jobsIn(before).map((job) => [job.id, job]));
  const jobs = jobsIn(after);
  const faults = jobs.flatMap((job) => [
    ...dueFaults(job),
    ...stepFaults(before, after, old.get(job.id) ?? job, job),
  ]);
  const isHere = (id: string) => jobs.some((job) => job.id === id);
  for (const [id, { run }] of old)
    if (!isHere(id) && run && !run.tentative && runIn(after, id, run.at)?.durationMs === undefined)
      faults.push(`${id} was removed before its run's end`);
  if (jobs.filter(({ run }) => run && !run.tentative).length > maxRuns)
    faults.push("too many runs have a slot");
  return [...faults, ...historyFaults(before, after)];
}

/** The sweep must handle a job soon after its claimant may have died, and after its next run was due. */
function dueFaults({ id, run, enabled, nextRunAtMs, dueAt: listed = Number.POSITIVE_INFINITY }: StoredJob) {
  const check = run && (run.submitted ? run.until : run.since + claimMs);
  if (check !== undefined && listed > check) return [`nothing will continue the run of ${id}`];
  const isMissed = !run && enabled && nextRunAtMs !== undefined && listed > nextRunAtMs + scheduleGraceMs;
  return isMissed ? [`nothing will start the run of ${id}`] : [];
}

function stepFaults(before: Snapshot, after: Snapshot, old: StoredJob, job: StoredJob): string[] {
  const faults: string[] = [];
  const [was, is] = [old.run, job.run];
  const isNew = is && is.at !== was?.at;
  if (isNew && was) faults.push(`a run of ${job.id} replaced another`);
  if (isNew && runIn(before, job.id, is.at)) faults.push(`a time of ${job.id} was claimed twice`);
  const isGone = was && !was.tentative && is?.at !== was.at;
  const end = was && runIn(after, job.id, was.at);
  if (isGone && end?.durationMs === undefined) faults.push(`a run of ${job.id} was removed before its end`);
  if (isGone && job.lastStatus === "lost" && end?.status === "ok") faults.push(`a run that ended is lost`);
  const [last, next] = [old.nextRunAtMs, job.nextRunAtMs];
  if (last === next || last === undefined) return faults;
  if (next !== undefined && next < last) faults.push(`the next time of ${job.id} went back`);
  // The scenarios' edits of the schedule change the description, too.
  const isExplained = is?.at === last || job.lastStatus === "skipped" || job.description !== old.description;
  if (!isExplained && !job.removed) faults.push(`a time of ${job.id} was passed over without a reason`);
  return faults;
}

/** An end stays, and "ok" is only written of a run whose message the session has accepted. */
function historyFaults(before: Snapshot, after: Snapshot): string[] {
  return [...after.items].flatMap(([name, run]) => {
    const old = before.items.get(name);
    if (run.pk !== "CRONRUN" || old === run) return [];
    const session = after.items.get(itemName(sessionOf(String(run.jobId))));
    const isAccepted = Object.hasOwn((session?.recent ?? {}) as Item, String(run.id));
    if (run.status === "ok" && !isAccepted) return [`${run.id} is ok before it ran`];
    return old?.status === "ok" && run.status !== "ok" ? [`${run.id} ended twice`] : [];
  });
}

/** Whether a job has nothing to do before its next time. */
export function isIdle({ enabled, run, nextRunAtMs }: StoredJob, clock: number): boolean {
  return !run && !(enabled && nextRunAtMs !== undefined && nextRunAtMs <= clock);
}

/** The faults when no process is running. */
export function restFaults(table: Snapshot, clock: number, crashed: boolean): string[] {
  return jobsIn(table).flatMap((job) => {
    const faults: string[] = [];
    const { id, run, removed, description, lastStatus } = job;
    if (!crashed && run) faults.push(`the run of ${id} has no process`);
    if (!crashed && inboxOf(table, id).length > 0) faults.push(`a message to ${id} has no process`);
    if (removed || description !== undefined || !isIdle(job, clock) || inboxOf(table, id).length > 0)
      return faults;
    const first = runIn(table, id, dueAt)?.status ?? lastStatus;
    if (first !== "ok" && first !== "skipped") faults.push(`the time of ${id} ended as ${first}`);
    return faults;
  });
}
