import { readJob } from "../../shared/cron/plan-run.ts";
import { lookAfterJob } from "../../shared/cron/run-job.ts";
import { log } from "../../shared/runtime/log.ts";
import type { TimerEvent } from "../../shared/world/world.ts";
import type { Timer } from "./timer.ts";

/**
 * Handles the time of a scheduled job's run. The schedule of a time that is not the job's next any more, because the
 * job was changed or has run, is ignored.
 */
export async function fireCron(
  timer: Timer,
  { jobId, at }: Extract<TimerEvent, { kind: "cron" }>,
): Promise<void> {
  const job = await readJob(timer.table, jobId);
  const isCurrent = job?.nextRunAtMs === at || job?.run?.at === at;
  log("cron.fire", { jobId, at, isCurrent });
  // Use the schedule's time when this clock is behind it.
  if (isCurrent) await lookAfterJob(timer, jobId, Math.max(timer.now(), at));
}
