import type { Configuration } from "../configuration/schema.ts";
import type { ConfigurationStore } from "../configuration/store.ts";
import { logError } from "../runtime/log.ts";
import type { Schedules, Table, WakeAgent } from "../world/world.ts";
import type { StoredJob } from "./job-item.ts";
import { nextRunTime } from "./run-times.ts";

/** The dependencies of scheduled jobs. The timer, socket and agent functions share them. */
export interface CronWorld {
  table: Table;
  schedules: Schedules;
  configuration: Pick<ConfigurationStore, "load">;
  wake: WakeAgent;
  now: () => number;
}

/** The first run of a job after `after`; epoch ms. Periods without an anchor are counted from the job's creation. */
export function nextRunOf(
  { schedule, createdAtMs }: Pick<StoredJob, "schedule" | "createdAtMs">,
  after: number,
  { userTimezone }: Pick<Configuration, "userTimezone">,
): number | undefined {
  const anchored = schedule.kind === "every" ? { anchorMs: createdAtMs, ...schedule } : schedule;
  return nextRunTime(anchored, after, userTimezone);
}

/**
 * Schedules a job's next run. The schedule's name contains the job and the time, so that a repeat creates no second one; a
 * schedule whose time is no longer the next run changes nothing. A failure is only logged: the sweep runs the job.
 */
export async function scheduleNext(
  { schedules }: Pick<CronWorld, "schedules">,
  jobId: string,
  at: number | undefined,
): Promise<void> {
  if (at === undefined) return;
  try {
    await schedules.once(`cron-${jobId}-${at}`, at, { kind: "cron", jobId, at });
  } catch (error) {
    logError("cron.unscheduled", error, { jobId, at });
  }
}
