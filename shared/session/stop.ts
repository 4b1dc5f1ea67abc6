import { absent, all, differs, equal, set } from "../world/expression.ts";
import { ConditionFailed, type Table } from "../world/world.ts";
import type { Writer } from "./inbox-entry.ts";
import { duePartition, metaKey, type SessionState, toState } from "./state.ts";

/**
 * Requests a stop of the current run, or of the next run when its message is first in the inbox and no run is
 * committed. The lease holder sees the request when it commits or renews. Without a holder the caller must
 * wake the agent. A guest may stop only a run that the same guest wrote.
 * @param by who asks; an owner when absent
 * @returns undefined when there is nothing to stop, "refused" when it is not the guest's
 */
export async function requestStop(
  table: Table,
  sessionKey: string,
  now: number,
  by: Writer = {},
): Promise<{ state: SessionState; runId: string; pendingCount: number } | "refused" | undefined> {
  const key = metaKey(sessionKey);
  for (;;) {
    const item = await table.get(key);
    const target = item && stoppable(toState(item));
    if (!target) return undefined;
    const { runId, pendingCount, writer, unchanged } = target;
    if (by.role === "guest" && !isSameGuest(by, writer)) return "refused";
    try {
      const steps = [set("stop", runId), set("duePk", duePartition), set("dueAt", now)];
      return { state: toState(await table.update(key, steps, unchanged)), runId, pendingCount };
    } catch (error) {
      if (!(error instanceof ConditionFailed)) throw error;
    }
  }
}

/**
 * The run to stop, and the condition that it is still the same run. Undefined when there is nothing to stop.
 */
function stoppable({ run, inbox: [entry] }: SessionState) {
  if (run?.phase === "reply") return undefined;
  if (run) {
    return {
      runId: run.runId,
      pendingCount: run.pendingCount,
      writer: run,
      // A run whose answer is committed cannot be stopped: the answer may be in delivery.
      unchanged: all(equal(["run", "runId"], run.runId), differs(["run", "phase"], "reply")),
    };
  }
  if (entry?.kind !== "message") return undefined;
  return {
    runId: entry.id,
    pendingCount: 0,
    writer: entry,
    unchanged: all(absent("run"), equal(["inbox", 0, "id"], entry.id)),
  };
}

/** Whether two writers in one session are the same guest. A session's messages come from one channel. */
function isSameGuest(left: Writer, right: Writer): boolean {
  return right.role === "guest" && left.senderId !== undefined && left.senderId === right.senderId;
}
