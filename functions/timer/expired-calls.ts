import { cancelCalls } from "../../shared/peers/cancel-calls.ts";
import { listPeers } from "../../shared/peers/registry.ts";
import type { Expired } from "../../shared/session/calls.ts";
import type { Sockets, Table } from "../../shared/world/world.ts";

/** Cancels timed-out calls on their nodes. It is not repeated after a crash: a command then ends by its own timeout. */
export async function cancelExpired(
  { table, sockets, now }: { table: Table; sockets: Sockets; now: () => number },
  { calls }: Expired,
): Promise<void> {
  await cancelCalls({ sockets }, () => listPeers(table, "node", now()), calls);
}
