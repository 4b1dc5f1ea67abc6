import { createHash } from "node:crypto";
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

/** Model providers accept tool names of at most this many characters, from `[A-Za-z0-9_-]`. */
const maxToolName = 64;

/** A node's tool, with the name that models and clients use. */
export interface NodeTool {
  definition: ToolDefinition;
  node: PeerRecord;
  /** The name of the tool on the node. */
  bareName: string;
}

/** A shortened node id ends with this many digits of a hash of the full id: enough to prevent collisions. */
const hashDigits = 16;

/** Matches a shortened id. An id that matches is shortened too if it could be confused with a shortened one. */
const shortened = /(^|-)[0-9a-f]{16}$/;

/** A node's id as part of tool names: invalid characters become `_`. */
export function nameOfNode(nodeId: string): string {
  return nodeId.replaceAll(/[^A-Za-z0-9_-]/g, "_");
}

/** Whether a node's tools could be confused with the gateway's own, whose names begin with `gsv__`. */
export function isGatewayName(nodeId: string): boolean {
  return /^gsv(?:_*$|__)/i.test(nameOfNode(nodeId));
}

/**
 * `{nodeId}__{tool}`. An id that leaves too little room for the tool's name is shortened; different ids stay different.
 * Undefined when the tool's name is too long even for that.
 */
export function nodeToolName(nodeId: string, tool: string): string | undefined {
  const room = maxToolName - tool.length - 2;
  const name = nameOfNode(nodeId);
  const couldBeTaken = name.length >= room - 1 && shortened.test(name);
  if (name.length <= room && !couldBeTaken) return `${name}__${tool}`;
  if (room < hashDigits) return undefined;
  const digits = createHash("sha256").update(name.toLowerCase()).digest("hex").slice(0, hashDigits);
  const kept = name.slice(0, Math.max(0, room - hashDigits - 1));
  return `${kept === "" ? digits : `${kept}-${digits}`}__${tool}`;
}

/**
 * The tools of all connected nodes by name. Two nodes with the same name (`nameOfNode`) have the same token;
 * the first one by id wins. Tools without a possible name are omitted.
 */
export function nodeTools(nodes: readonly PeerRecord[]): Map<string, NodeTool> {
  const tools = new Map<string, NodeTool>();
  for (const node of nodes) {
    for (const tool of node.tools ?? []) {
      const name = nodeToolName(node.id, tool.name);
      if (name === undefined || tools.has(name)) continue;
      tools.set(name, { definition: { ...tool, name }, node, bareName: tool.name });
    }
  }
  return tools;
}
