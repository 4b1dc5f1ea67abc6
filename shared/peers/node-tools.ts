import type { ToolDefinition } from "../protocol/messages.ts";
import type { PeerRecord } from "./registry.ts";

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
