import type { Table } from "../world/world.ts";
import { changeJob, type JobRun, readJobs, type StoredJob } from "./job-item.ts";

/** A job with a run. */
export type RunningJob = StoredJob & { run: JobRun };

/**
 * The other tasks that have a run: first those with a slot, then tentative ones in the order of their claims. An event needs no
 * slot: it only adds a message to the main session's inbox.
 */
export async function rivalsOf(table: Table, { id }: StoredJob): Promise<RunningJob[]> {
  const isRival = (job: StoredJob): job is RunningJob =>
    job.id !== id && job.run !== undefined && job.spec.mode === "task";
  return (await readJobs(table)).filter(isRival).sort((a, b) => (isAhead(a, b) ? -1 : 1));
}

function isAhead(a: RunningJob, b: RunningJob): boolean {
  if (Boolean(a.run.tentative) !== Boolean(b.run.tentative)) return b.run.tentative === true;
  return a.run.since === b.run.since ? a.id < b.id : a.run.since < b.run.since;
}

/**
 * Gives a slot to a tentative run, and sets the job's next run. The run gives way if `max` runs have a slot or a claim before it,
 * or if its time is no longer the job's next one. It takes the claims of tentative runs behind it that are too many. So of runs
 * that are claimed at the same time the first gets a slot, and the last to be claimed sees all others.
 * @param next the job's run after this one
 * @returns "waiting" if the run gave way; "changed" if a job was written since it was read
 */
export async function admitRun(
  table: Table,
  job: RunningJob,
  { max, next }: { max: number; next: number | undefined },
  now: number,
): Promise<RunningJob | "waiting" | "changed"> {
  const giveUp = async (one: StoredJob) =>
    (await changeJob(table, one, { run: undefined }, now)) ? "waiting" : "changed";
  const { tentative: _tentative, ...run } = job.run;
  if (!run.forced && !(job.enabled && job.nextRunAtMs === run.at)) return giveUp(job);
  const rivals = await rivalsOf(table, job);
  if (rivals.filter((rival) => isAhead(rival, job)).length >= max) return giveUp(job);
  for (const rival of rivals.slice(max - 1)) if ((await giveUp(rival)) === "changed") return "changed";
  const admitted = await changeJob(table, job, { run, nextRunAtMs: next }, now);
  return admitted ? { ...admitted, run } : "changed";
}
