import { absent, all, any, differs, equal, set } from "../world/expression.ts";
import { ConditionFailed, type Table } from "../world/world.ts";
import { dueSteps } from "./due.ts";
import { acceptStep, notAccepted, wasAccepted } from "./inbox.ts";
import type { Writer } from "./inbox-entry.ts";
import { metaKey, type SessionState, toState } from "./state.ts";

/** An accepted request to stop a run or a requested compaction. */
export interface Stop {
  state: SessionState;
  /**
   * The run, or the entry that requests the compaction. Absent when an earlier attempt of the same request was accepted and
   * its run has already ended.
   */
  runId?: string;
  isCompaction?: boolean;
  /** Tool calls that the run waits for. */
  pendingCount: number;
}

/**
 * Requests a stop of the current run, or of the message or compaction that is first in the inbox when no run is
 * committed. The lease holder sees the request when it commits or renews. Without a holder the caller must
 * wake the agent. A guest may stop only a run that the same guest wrote.
 *
 * One request stops one run. The same write records the request's id: a retry, by the SDK or by the sender, stops no
 * other run. When the run ends meanwhile, the request stops nothing.
 * @param id the request's id; a retry has the same
 * @param by who requests it; an owner when absent
 * @param only the run to stop, if it is the current or next one
 * @returns undefined when there is nothing to stop, "refused" when a guest requests it for a run of somebody else
 */
export async function requestStop(
  table: Table,
  sessionKey: string,
  id: string,
  now: number,
  by: Writer = {},
  only?: string,
): Promise<Stop | "refused" | undefined> {
  const key = metaKey(sessionKey);
  const request = `stop:${id}`;
  let chosen = only;
  for (;;) {
    const item = await table.get(key);
    if (!item) return undefined;
    const state = toState(item);
    if (wasAccepted(state, request)) return { state, runId: state.stop, pendingCount: 0 };
    const target = stoppable(state);
    if (!target) return undefined;
    const { runId, name, pendingCount, writer, unchanged } = target;
    chosen ??= runId;
    if (runId !== chosen) return undefined;
    if (by.role === "guest" && !isSameGuest(by, writer)) return "refused";
    const steps = [...[set(name, runId), acceptStep(request, now)], ...dueSteps(key, now)];
    try {
      const written = await table.update(key, steps, all(unchanged, notAccepted(request)));
      return { state: toState(written), runId, pendingCount, isCompaction: name === "stopEntry" };
    } catch (error) {
      if (!(error instanceof ConditionFailed)) throw error;
    }
  }
}

/**
 * The run to stop, and the condition that it can still be stopped. Undefined when there is nothing to stop.
 */
function stoppable({ run, compacting, inbox: [entry] }: SessionState) {
  // A run whose answer is committed cannot be stopped: the answer may be in delivery.
  if (run?.phase === "reply") return undefined;
  if (!run && entry?.kind === "compact") {
    if (compacting?.result) return undefined;
    const unchanged = all(
      absent("run"),
      equal(["inbox", 0, "id"], entry.id),
      absent(["compacting", "result"]),
    );
    return { runId: entry.id, name: "stopEntry", writer: entry, pendingCount: 0, unchanged };
  }
  const runId = run?.runId ?? (entry?.kind === "message" ? entry.id : undefined);
  if (runId === undefined) return undefined;
  const runs = all(equal(["run", "runId"], runId), differs(["run", "phase"], "reply"));
  const isNext = all(absent("run"), equal(["inbox", 0, "id"], runId));
  const writer: Writer = run ?? (entry?.kind === "message" ? entry : {});
  const pendingCount = run?.pendingCount ?? 0;
  return { runId, name: "stop", writer, pendingCount, unchanged: any(runs, isNext) };
}

/** Whether a stop was requested of the run in progress, or without one of the oldest inbox entry. */
export function isStopped({ run, inbox: [entry], stop, stopEntry }: SessionState): boolean {
  if (run) return stop === run.runId;
  return entry !== undefined && (stop === entry.id || stopEntry === entry.id);
}

/** Whether two writers in one session are the same guest. A session's messages come from one channel. */
export function isSameGuest(left: Writer, right: Writer): boolean {
  return right.role === "guest" && left.senderId !== undefined && left.senderId === right.senderId;
}
