import type { CronSchedule } from "../protocol/cron.ts";
import { code, PeerError } from "../protocol/errors.ts";
import { isTimezone } from "../runtime/zoned-time.ts";
import { nextCronTime, parseCronExpression } from "./cron-expression.ts";

/** Minimum period of an enabled job, ms: each run costs a model call. A five-field expression cannot have a shorter one. */
const minEveryMs = 60_000;

/**
 * The first run after `after`; epoch ms, undefined when there is none. The schedule must be valid (`checkSchedule`).
 * @param timezone the timezone of an expression without its own
 */
export function nextRunTime(schedule: CronSchedule, after: number, timezone: string): number | undefined {
  switch (schedule.kind) {
    case "at":
      return schedule.atMs > after ? schedule.atMs : undefined;
    case "every": {
      const { everyMs, anchorMs = 0 } = schedule;
      if (anchorMs > after) return anchorMs;
      return anchorMs + (Math.floor((after - anchorMs) / everyMs) + 1) * everyMs;
    }
    case "cron": {
      const expression = parseCronExpression(schedule.expr);
      return "fault" in expression ? undefined : nextCronTime(expression, after, schedule.tz ?? timezone);
    }
  }
}

/** The next `count` runs after `after`; fewer when there are fewer. */
export function nextRunTimes(
  schedule: CronSchedule,
  after: number,
  timezone: string,
  count: number,
): number[] {
  const times: number[] = [];
  for (let last = after; times.length < count; ) {
    const next = nextRunTime(schedule, last, timezone);
    if (next === undefined) break;
    times.push(next);
    last = next;
  }
  return times;
}

/** Checks that a job does not run more than once a minute. @throws PeerError 400 */
export function checkPeriod(schedule: CronSchedule): void {
  if (schedule.kind === "every" && schedule.everyMs < minEveryMs)
    throw new PeerError(code.badRequest, "schedule: a job runs at most once a minute; write a longer period");
}

/**
 * Checks that a schedule is valid and has a run after `now`.
 * @throws PeerError 400 with the reason
 */
export function checkSchedule(schedule: CronSchedule, now: number, timezone: string): void {
  const refuse = (reason: string) => {
    throw new PeerError(code.badRequest, `schedule: ${reason}`);
  };
  if (schedule.kind === "cron") {
    const expression = parseCronExpression(schedule.expr);
    if ("fault" in expression) refuse(expression.fault);
    if (schedule.tz !== undefined && !isTimezone(schedule.tz))
      refuse(`"${schedule.tz}" is not a timezone; use a name such as Europe/Berlin`);
  }
  if (nextRunTime(schedule, now, timezone) !== undefined) return;
  if (schedule.kind === "at") refuse(`${new Date(schedule.atMs).toISOString()} is in the past`);
  refuse("no such day in the next eight years");
}
