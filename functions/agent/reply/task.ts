import { settleCronRun } from "../../../shared/cron/settle-run.ts";
import { answerAsker } from "../../../shared/session/asked/answer-asker.ts";
import type { Run } from "../../../shared/session/run.ts";
import type { Agent } from "../agent.ts";
import { settleHeartbeat } from "./heartbeat-answer.ts";
import type { TaskEnd } from "./task-end.ts";

/**
 * Settles what the run was for, when the gateway itself sent its message. It comes after the delivery, and before the
 * run is removed: after a crash it is repeated, so every kind of task must be settled by writes that can be.
 */
export async function settleTask(
  agent: Pick<Agent, "table" | "bucket" | "channels" | "wake" | "now">,
  { task, runId }: Pick<Run, "task" | "runId">,
  end: TaskEnd,
): Promise<void> {
  if (!task) return;
  switch (task.kind) {
    case "exec":
      return;
    case "session":
      return answerAsker(agent, task, end);
    case "heartbeat":
      return settleHeartbeat(agent, task, runId, end);
    case "cron": {
      const { failure, undelivered } = end;
      const lost = undelivered === undefined ? undefined : `the answer was not delivered: ${undelivered}`;
      const error = failure ?? (task.bestEffort ? undefined : lost);
      return settleCronRun(agent, task, error === undefined ? { status: "ok" } : { status: "error", error });
    }
  }
}
