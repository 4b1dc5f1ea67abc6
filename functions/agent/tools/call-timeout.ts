import { createHash } from "node:crypto";
import type { Run } from "../../../shared/session/run.ts";
import type { Agent } from "../agent.ts";

/** Schedules the end of the wait for a step's pending calls. The schedule's name makes a repeat the same schedule. */
export async function scheduleTimeout(
  { schedules }: Pick<Agent, "schedules">,
  sessionKey: string,
  { runId, step, deadline }: Pick<Run, "runId" | "step" | "deadline">,
): Promise<void> {
  if (deadline === undefined) return;
  const name = `${sessionKey}\n${runId}\n${step}\n${deadline}`;
  const digest = createHash("sha256").update(name).digest("hex").slice(0, 40);
  const event = { kind: "tool-timeout", sessionKey, runId, step, deadline } as const;
  await schedules.once(`tools-${digest}`, deadline, event);
}
