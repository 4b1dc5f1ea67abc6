import type { Run } from "../../../shared/session/run.ts";
import type { Agent } from "../agent.ts";

/** Asks servers to cancel the tasks of a run, or of these calls. Does not throw. @returns the ids of the calls whose server accepted that */
export async function cancelTasks(
  agent: Agent,
  run: Run,
  only?: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  const told = Object.entries(run.pending).map(async ([callId, { remote }]) => {
    if (remote?.taskId === undefined || only?.has(callId) === false) return [];
    const { cancelTask } = await import("./remote-calls.ts");
    return (await cancelTask(agent, remote.server, remote.taskId)) ? [callId] : [];
  });
  return new Set((await Promise.all(told)).flat());
}
