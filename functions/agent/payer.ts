import { agentIdOf } from "../../shared/session/key/session-key.ts";
import type { Run } from "../../shared/session/run.ts";
import type { CallKind, Payer } from "../../shared/spend/rules.ts";

/** On whose account a run's model calls go. */
export function payerOf({ runId, role, senderId, origin, task }: Run, sessionKey: string): Payer {
  return {
    kind: kindOf({ role, task }),
    ...{ agentId: agentIdOf(sessionKey), sessionKey, runId },
    ...(origin.kind === "channel" ? { channel: origin.channel } : {}),
    ...(senderId === undefined ? {} : { senderId }),
    ...(task?.kind === "cron" ? { jobId: task.jobId } : {}),
  };
}

function kindOf({ role, task }: Pick<Run, "role" | "task">): CallKind {
  if (role === "guest") return "guest";
  return task?.kind === "heartbeat" || task?.kind === "cron" ? task.kind : "turn";
}

/** On whose account calls go that keep a session in order. */
export function maintenanceOf(sessionKey: string): Payer {
  return { kind: "maintenance", agentId: agentIdOf(sessionKey), sessionKey };
}
