import { durationMs } from "../../../shared/configuration/duration.ts";
import type { Configuration } from "../../../shared/configuration/schema.ts";
import type { Run } from "../../../shared/session/run.ts";
import { timeLeft } from "../model-step.ts";

/** Max requests that one reply opens, and that wait in all sessions. */
export const maxOpen = { reply: 5, all: 20 };

/** Bounds of `toolApproval.expireAfter`, in milliseconds. */
const minWaitMs = 60_000;
const maxWaitMs = 30 * 86_400_000;

/** When a new request counts as unanswered, epoch ms. A job that waits is one that runs: it ends at its time limit. */
export function requestEnd(
  { toolApproval }: Pick<Configuration, "toolApproval">,
  run: Pick<Run, "task" | "startedAt">,
  now: number,
): number {
  const waitMs = Math.min(maxWaitMs, Math.max(minWaitMs, durationMs(toolApproval.expireAfter)));
  return now + Math.min(waitMs, Math.max(0, timeLeft(run, now)));
}
