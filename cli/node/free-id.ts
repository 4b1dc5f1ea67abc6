import type { RequestError } from "../gateway/connection.ts";
import { placeTaken } from "../gateway/refusal.ts";
import { type NodeOptions, type RunningNode, startNode } from "./node-runtime.ts";

/** Max number of nodes with one default id: `laptop`, `laptop-2`, … `laptop-9`. */
const maxNodes = 9;

/**
 * Starts a node. While a running process uses the id, appends the next number to it. Resolves when the node is connected
 * or has failed (`ended` has the reason), or when `left` resolves.
 * @param onTaken called with each id in use, and the id that is tried next
 */
export async function startUnderFreeId(
  options: NodeOptions,
  onTaken: (nodeId: string, next: string) => void,
  left: Promise<unknown> = new Promise(() => {}),
): Promise<RunningNode & { nodeId: string }> {
  let nodeId = options.nodeId;
  for (let number = 2; ; number++) {
    const running = startNode({ ...options, nodeId });
    const opened = running.connection.open().then(
      () => undefined,
      (error: RequestError) => error,
    );
    const error = await Promise.race([opened, left.then(() => undefined)]);
    if (!placeTaken(error) || number > maxNodes) return { ...running, nodeId };
    await running.stop();
    const next = `${options.nodeId}-${number}`;
    onTaken(nodeId, next);
    nodeId = next;
  }
}
