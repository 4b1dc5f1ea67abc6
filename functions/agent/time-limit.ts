import { stepDeadline } from "../../shared/session/asked-session.ts";
import type { PendingCall, Run } from "../../shared/session/run.ts";

/** What a run fails with when its task's time is over. */
export const timeOverText = "the time limit of this job is over";

/** Milliseconds that a run may still take; infinite when its task sets no limit. */
export function timeLeft({ task, startedAt }: Pick<Run, "task" | "startedAt">, now: number): number {
  const timeoutMs = task?.kind === "cron" ? task.timeoutMs : undefined;
  return timeoutMs === undefined ? Number.POSITIVE_INFINITY : startedAt + timeoutMs - now;
}

/**
 * When the calls of a run's step count as timed out, epoch ms. A call of a node waits no longer than `toolMs`, nor than the
 * time limit of the run's task.
 */
export function callsDeadline(
  run: Pick<Run, "task" | "startedAt">,
  pending: Readonly<Record<string, PendingCall>>,
  toolMs: number,
  now: number,
): number {
  return stepDeadline(pending, Math.min(toolMs, Math.max(0, timeLeft(run, now))), now);
}
