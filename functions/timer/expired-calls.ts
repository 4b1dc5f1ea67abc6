import { settleRequest } from "../../shared/approvals/requests.ts";
import { createBroadcast } from "../../shared/peers/broadcast.ts";
import { cancelCalls } from "../../shared/peers/cancel-calls.ts";
import { listPeers } from "../../shared/peers/registry.ts";
import { type Expired, scheduleTimeout } from "../../shared/session/calls.ts";
import { waitingRequests } from "../../shared/session/waiting.ts";
import type { Schedules, Sockets, Table } from "../../shared/world/world.ts";

/**
 * Cancels timed-out calls on their nodes, closes requests that nobody has answered, and schedules the end of those that wait
 * longer. It is not repeated after a crash: a command then ends by its own timeout, and the sweep ends the wait.
 */
export async function endExpired(
  timer: { table: Table; sockets: Sockets; schedules: Schedules; now: () => number },
  sessionKey: string,
  { calls, unanswered, state }: Expired,
): Promise<void> {
  const { table, sockets, now } = timer;
  const { run } = state;
  const isWaiting = run !== undefined && waitingRequests(run).length > 0;
  const close = async () => {
    if (unanswered.length === 0) return;
    const runId = run?.runId ?? "";
    const broadcast = createBroadcast(table, sockets, now);
    const clients = await broadcast.clients();
    for (const { tool, approval } of unanswered) {
      await settleRequest(table, approval.id, "unanswered");
      const resolved = { id: approval.id, sessionKey, runId, tool, state: "unanswered" } as const;
      await broadcast.send(clients, "approval.resolved", resolved);
    }
  };
  await Promise.all([
    cancelCalls({ sockets }, () => listPeers(table, "node", now()), calls),
    isWaiting ? scheduleTimeout(timer, sessionKey, run) : undefined,
    close(),
  ]);
}
