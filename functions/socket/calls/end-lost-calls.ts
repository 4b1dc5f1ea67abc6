import { normalId } from "../../../shared/peers/peer-ids.ts";
import { readPeer } from "../../../shared/peers/registry.ts";
import { log } from "../../../shared/runtime/log.ts";
import { callsOfNode, endCalls, type NodeCalls, whyLost } from "../../../shared/session/lost-calls.ts";
import { needsAgent } from "../../../shared/session/state.ts";
import type { Gateway } from "../gateway.ts";

/** How long a disconnected node may take to connect again before its calls end, in milliseconds. */
const graceMs = 10_000;

/** TTL of the mark of a node's last disconnect, in seconds. */
const keptSeconds = 3600;

type World = Pick<Gateway, "table" | "wake" | "now" | "pause">;

/**
 * Ends the calls that a node was running when its connection ended, unless the same process connects again within the grace
 * period: then it sends their results. Without a call it does not wait. If the node disconnects again meanwhile, the
 * invocation of that disconnect ends the calls. If this invocation dies, their deadline does.
 */
export async function endLostCalls(world: World, nodeId: string, connectionId: string): Promise<void> {
  const { table, now, pause } = world;
  const running = await callsOfNode(table, nodeId);
  if (running.length === 0) return;
  const mark = { pk: `NODE#${normalId(nodeId)}`, sk: "LEFT" };
  await table.put({ ...mark, connectionId, expiresAt: Math.floor(now() / 1000) + keptSeconds });
  if (!(await pause(graceMs))) return;
  const [node, last] = await Promise.all([readPeer(table, "node", nodeId, now()), table.get(mark)]);
  if (last?.connectionId !== connectionId) return;
  await Promise.all(
    running.map((calls) => endThese(world, calls, nodeId, ({ process }) => whyLost(process, node))),
  );
}

async function endThese(
  { table, wake, now }: World,
  { calls, ...of }: NodeCalls,
  nodeId: string,
  why: (call: NodeCalls["calls"][string]) => string | undefined,
): Promise<void> {
  const errors = Object.entries(calls).flatMap(([id, call]): [string, string][] => {
    const error = why(call);
    return error === undefined ? [] : [[id, error]];
  });
  const ended = await endCalls(table, of, Object.fromEntries(errors));
  if (!ended) return;
  log("tool.lost", { ...of, nodeId, calls: errors.length });
  if (needsAgent(ended, now())) await wake(of.sessionKey);
}
