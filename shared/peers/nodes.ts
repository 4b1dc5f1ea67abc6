import { code, PeerError } from "../protocol/errors.ts";
import type { ToolDefinition } from "../protocol/messages.ts";
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

/** Model providers take tool names of at most this many characters, from `[A-Za-z0-9_-]`. */
const maxToolName = 64;

/** A node's tool, under the name that models and clients use for it. */
export interface NodeTool {
  definition: ToolDefinition;
  node: PeerRecord;
  /** The name the node knows it by. */
  bareName: string;
}

/** `{nodeId}__{tool}`; what a tool name may not hold becomes `_`, and a long node id is shortened. */
export function nodeToolName(nodeId: string, tool: string): string {
  const room = maxToolName - tool.length - 2;
  return `${nodeId.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, Math.max(1, room))}__${tool}`;
}

/** The tools of all connected nodes by name. Where two nodes end up with one name, the first by id has it. */
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
