import { code, PeerError } from "../protocol/errors.ts";
import type { PeerRecord } from "./registry.ts";

/**
 * The node that a request means: the named one, or the only one.
 * @throws PeerError 503 when it is not connected, 400 when there are several and none was named
 */
export function chooseNode(nodes: readonly PeerRecord[], nodeId: string | undefined): PeerRecord {
  const [only, ...others] = nodes;
  if (nodeId !== undefined) {
    const named = nodes.find((node) => node.id === nodeId);
    if (!named) throw new PeerError(code.unavailable, `node not connected: ${nodeId}`, { retryable: true });
    return named;
  }
  if (!only) throw new PeerError(code.unavailable, "no node is connected", { retryable: true });
  if (others.length > 0) {
    const names = nodes.map((node) => node.id).join(", ");
    throw new PeerError(code.badRequest, `nodeId: several nodes are connected (${names}); name one`);
  }
  return only;
}
