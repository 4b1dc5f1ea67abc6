import { shownTime } from "../../../shared/cron/cron-message.ts";
import type { CronJob, CronSchedule, CronSpec } from "../../../shared/protocol/cron.ts";
import { durationText, visible } from "../../app/columns.ts";

/** A schedule in a few words. @param timezone the user's */
export function scheduleText(schedule: CronSchedule, timezone: string): string {
  switch (schedule.kind) {
    case "at":
      return `once, ${shownTime(schedule.atMs, timezone)}`;
    case "every":
      return `every ${durationText(schedule.everyMs)}`;
    case "cron":
      return `${schedule.expr} (${schedule.tz ?? timezone})`;
  }
}

/** Where the answer of a job's run goes, in words. */
export function receiverText(spec: CronSpec): string {
  if (spec.mode === "systemEvent")
    return "into the main session, answered where an owner last wrote directly";
  if (spec.deliver === false) return "nowhere: the answer stays in the job's session";
  const { channel = "last", to } = spec;
  if (spec.deliver === undefined && spec.channel === undefined && to === undefined)
    return "to connected clients";
  if (to !== undefined) return `to ${channel === "last" ? "" : `${channel} `}${to}`;
  const otherwise = spec.bestEffortDeliver ? ", else to connected clients" : "";
  return `to where an owner last wrote directly on a channel${otherwise}`;
}

/** What a person sees of a job. */
export function jobLines(job: CronJob, timezone: string): (readonly [string, string | undefined])[] {
  const { state, spec } = job;
  return [
    ["job", `${visible(job.name)} (${job.id})`],
    ["about", job.description],
    ["agent", job.agentId],
    ["when", scheduleText(job.schedule, timezone)],
    ["says", spec.mode === "task" ? spec.message : spec.text],
    ["goes", receiverText(spec)],
    ["next", nextText(job, timezone)],
    [
      "last",
      state.lastRunAtMs === undefined
        ? undefined
        : `${shownTime(state.lastRunAtMs, timezone)}: ${lastText(job)}`,
    ],
  ];
}

/** When a job runs next, in words. */
export function nextText({ enabled, state }: CronJob, timezone: string): string {
  if (state.runningAtMs !== undefined) return "is running";
  if (!enabled) return "disabled";
  return state.nextRunAtMs === undefined ? "none" : shownTime(state.nextRunAtMs, timezone);
}

/** How a job's last run ended. */
export function lastText({ state }: CronJob): string {
  if (state.lastStatus === undefined) return "-";
  return state.lastError === undefined
    ? state.lastStatus
    : `${state.lastStatus}: ${visible(state.lastError)}`;
}
