import { cancelCalls } from "../../shared/peers/cancel-calls.ts";
import { listPeers } from "../../shared/peers/registry.ts";
import type { Expired } from "../../shared/session/calls.ts";
import type { Sockets, Table } from "../../shared/world/world.ts";

/** Has the nodes end calls that have timed out. After a crash it is not repeated: then a command ends by its own timeout. */
export async function endExpired(
  { table, sockets, now }: { table: Table; sockets: Sockets; now: () => number },
  { calls }: Expired,
): Promise<void> {
  await cancelCalls({ sockets }, () => listPeers(table, "node", now()), calls);
}
