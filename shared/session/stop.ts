import { absent, all, differs, equal, set } from "../world/expression.ts";
import { ConditionFailed, type Table } from "../world/world.ts";
import { duePartition, metaKey, type SessionState, toState } from "./state.ts";

/**
 * Asks for the run in progress to be stopped, or the one that is about to begin: its message is accepted, and no run is
 * committed yet. Undefined when there is neither. The holder sees the request when it commits or renews its lease;
 * without a holder the caller wakes the agent.
 */
export async function requestStop(
  table: Table,
  sessionKey: string,
  now: number,
): Promise<{ state: SessionState; runId: string; pendingCount: number } | undefined> {
  const key = metaKey(sessionKey);
  for (;;) {
    const item = await table.get(key);
    const target = item && stoppable(toState(item));
    if (!target) return undefined;
    const { runId, pendingCount, unchanged } = target;
    try {
      const steps = [set("stop", runId), set("duePk", duePartition), set("dueAt", now)];
      return { state: toState(await table.update(key, steps, unchanged)), runId, pendingCount };
    } catch (error) {
      if (!(error instanceof ConditionFailed)) throw error;
    }
  }
}

/** What a stop is for, and the condition under which it still is. */
function stoppable({ run, inbox: [entry] }: SessionState) {
  if (run?.phase === "reply") return undefined;
  if (run) {
    return {
      runId: run.runId,
      pendingCount: run.pendingCount,
      // A run whose answer is committed has nothing to stop: it may be on its way.
      unchanged: all(equal(["run", "runId"], run.runId), differs(["run", "phase"], "reply")),
    };
  }
  if (entry?.kind !== "message") return undefined;
  return {
    runId: entry.id,
    pendingCount: 0,
    unchanged: all(absent("run"), equal(["inbox", 0, "id"], entry.id)),
  };
}
