import { shownTime } from "../../../shared/cron/cron-message.ts";
import type { CronJob, CronSchedule, CronSpec } from "../../../shared/protocol/cron.ts";
import { durationText, visible } from "../../app/columns.ts";

/** Describes a schedule. @param timezone the user's */
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

/** Describes where the answer of a job's run goes. */
export function receiverText(spec: CronSpec): string {
  if (spec.mode === "systemEvent") return "to the main session, answered where an owner last wrote directly";
  if (spec.deliver === false) return "nowhere: the answer remains in the job's session";
  const { channel = "last", to } = spec;
  if (spec.deliver === undefined && spec.channel === undefined && to === undefined)
    return "to connected clients";
  if (to !== undefined) return `to ${channel === "last" ? "" : `${channel} `}${to}`;
  const otherwise = spec.bestEffortDeliver ? ", else to connected clients" : "";
  return `to where an owner last wrote directly on a channel${otherwise}`;
}

/** The name and value pairs that describe a job to the user. */
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

/** Describes when a job runs next. */
export function nextText({ enabled, state }: CronJob, timezone: string): string {
  if (state.runningAtMs !== undefined) return "running";
  if (!enabled) return "disabled";
  return state.nextRunAtMs === undefined ? "none" : shownTime(state.nextRunAtMs, timezone);
}

/** Describes how a job's last run ended. */
export function lastText({ state }: CronJob): string {
  if (state.lastStatus === undefined) return "-";
  return state.lastError === undefined
    ? state.lastStatus
    : `${state.lastStatus}: ${visible(state.lastError)}`;
}
