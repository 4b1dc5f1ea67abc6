import { stepDeadline } from "../../shared/session/asked-session.ts";
import type { PendingCall, Run } from "../../shared/session/run.ts";

/** The error of a run that exceeded its task's time limit. */
export const timeOverText = "this job's time limit is over";

/** Milliseconds that a run may still take; infinite when its task sets no limit. */
export function timeLeft({ task, startedAt }: Pick<Run, "task" | "startedAt">, now: number): number {
  const timeoutMs = task?.kind === "cron" ? task.timeoutMs : undefined;
  return timeoutMs === undefined ? Number.POSITIVE_INFINITY : startedAt + timeoutMs - now;
}

/**
 * When the calls of a run's step time out, epoch ms. The gateway waits for a node's call for at most `toolMs`, and never
 * beyond the time limit of the run's task.
 */
export function callsDeadline(
  run: Pick<Run, "task" | "startedAt">,
  pending: Readonly<Record<string, PendingCall>>,
  toolMs: number,
  now: number,
): number {
  return stepDeadline(pending, Math.min(toolMs, Math.max(0, timeLeft(run, now))), now);
}
