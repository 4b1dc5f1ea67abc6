import { readSession } from "../session/sessions.ts";
import { metaKey } from "../session/state.ts";
import { isSetAside, type WaitingRequest, waitingRequests } from "../session/waiting.ts";
import { absent, add, all, equal, remove, set } from "../world/expression.ts";
import { succeeds, type Table } from "../world/world.ts";

const setAsideResult = JSON.stringify({
  error:
    "not run: your human wrote something else before answering the request. Finish now: that is answered next",
  origins: [],
});

/**
 * Sets the open requests of a session's run aside, if a later entry of its owner waits: their calls get an error. An answer that
 * comes first counts. Not a commit of the lease's holder, because answers and timeouts change the same calls.
 * @returns the requests that were set aside
 */
export async function setRequestsAside(table: Table, sessionKey: string): Promise<WaitingRequest[]> {
  for (;;) {
    const state = await readSession(table, sessionKey);
    if (!state?.run || !isSetAside(state)) return [];
    const waiting = waitingRequests(state.run);
    const { runId, step } = state.run;
    const steps = waiting.flatMap(({ callId }) => [
      remove(["run", "pending", callId]),
      set(["run", "results", callId], setAsideResult),
    ]);
    const counted = [
      add(["run", "pendingCount"], -waiting.length),
      add(["run", "resultBytes"], waiting.length * Buffer.byteLength(setAsideResult)),
    ];
    const isSame = all(
      equal(["run", "runId"], runId),
      equal(["run", "step"], step),
      ...waiting.flatMap(({ callId, approval }) => [
        equal(["run", "pending", callId, "approval", "id"], approval.id),
        absent(["run", "pending", callId, "approval", "answer"]),
      ]),
    );
    if (await succeeds(table.update(metaKey(sessionKey), [...steps, ...counted], isSame))) return waiting;
  }
}
