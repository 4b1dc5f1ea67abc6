import type { Run } from "../../shared/session/run.ts";

/** What a run fails with when its task's time is over. */
export const timeOverText = "the time limit of this job is over";

/** Milliseconds that a run may still take; infinite when its task sets no limit. */
export function timeLeft({ task, startedAt }: Pick<Run, "task" | "startedAt">, now: number): number {
  const timeoutMs = task?.kind === "cron" ? task.timeoutMs : undefined;
  return timeoutMs === undefined ? Number.POSITIVE_INFINITY : startedAt + timeoutMs - now;
}
