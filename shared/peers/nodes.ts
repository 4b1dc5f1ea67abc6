import { code, PeerError } from "../protocol/errors.ts";
import type { ToolDefinition } from "../protocol/messages.ts";
import type { PeerRecord } from "./registry.ts";

/**
 * The node for a request: the named node, or the only connected node.
 * @throws PeerError 503 when it is not connected, 400 when several are connected and `nodeId` is undefined
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

/** Model providers take tool names of at most this many characters, from `[A-Za-z0-9_-]`. */
const maxToolName = 64;

/** A node's tool, with the name that models and clients use. */
export interface NodeTool {
  definition: ToolDefinition;
  node: PeerRecord;
  /** The name of the tool on the node. */
  bareName: string;
}

/** `{nodeId}__{tool}`; invalid characters become `_`, and a long node id is cut. */
export function nodeToolName(nodeId: string, tool: string): string {
  const room = maxToolName - tool.length - 2;
  return `${nodeId.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, Math.max(1, room))}__${tool}`;
}

/**
 * The tools of all connected nodes by name. When two tools get the same name, the first node by id wins.
 * Names above `maxToolName` are dropped.
 */
export function nodeTools(nodes: readonly PeerRecord[]): Map<string, NodeTool> {
  const tools = new Map<string, NodeTool>();
  for (const node of nodes) {
    for (const tool of node.tools ?? []) {
      const name = nodeToolName(node.id, tool.name);
      if (name.length > maxToolName || tools.has(name)) continue;
      tools.set(name, { definition: { ...tool, name }, node, bareName: tool.name });
    }
  }
  return tools;
}
