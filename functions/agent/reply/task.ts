import { settleCronRun } from "../../../shared/cron/settle-run.ts";
import type { Run } from "../../../shared/session/run.ts";
import type { Agent } from "../agent.ts";

/** How the run of a task ended. */
export interface TaskEnd {
  /** Why the run failed or was stopped; absent when it was answered. */
  failure?: string;
  /** Why the answer could not be delivered to its channel. */
  undelivered?: string;
}

/**
 * Settles what the run was for, when the gateway itself sent its message. It comes after the delivery, and before the
 * run is removed: after a crash it is repeated, so every kind of task must be settled by writes that can be.
 */
export async function settleTask(
  agent: Pick<Agent, "table" | "now">,
  { task }: Pick<Run, "task">,
  { failure, undelivered }: TaskEnd,
): Promise<void> {
  if (!task) return;
  switch (task.kind) {
    case "cron": {
      const lost = undelivered === undefined ? undefined : `the answer was not delivered: ${undelivered}`;
      const error = failure ?? (task.bestEffort ? undefined : lost);
      return settleCronRun(agent, task, error === undefined ? { status: "ok" } : { status: "error", error });
    }
  }
}
