import * as v from "valibot";
import { code, PeerError } from "../../shared/protocol/errors.ts";
import type { ToolDefinition } from "../../shared/protocol/messages.ts";
import {
  type AnnouncedRuntime,
  type Capability,
  type ConnectParams,
  capabilities,
  type NodeRuntime,
  nodeRuntimeField,
} from "../../shared/protocol/schemas.ts";
import { schemaFault } from "../../shared/protocol/tool-schema.ts";

/** Capabilities that an execution host needs. */
const executionCapabilities: Capability[] = [
  "filesystem.list",
  "filesystem.read",
  "filesystem.write",
  "shell.exec",
];

/**
 * The tools and the host that a node announces in `connect`. A host without a role is an execution host if it has all the
 * capabilities of one.
 * @throws PeerError 103
 */
export function readAnnouncedNode({ tools = [], nodeRuntime }: ConnectParams): {
  tools: ToolDefinition[];
  runtime: NodeRuntime;
} {
  if (tools.length === 0) throw refusal("tools: a node needs at least one");
  const announced = parseRuntime(nodeRuntime);
  checkTools(tools, announced);
  const { hostCapabilities } = announced;
  const missing = executionCapabilities.find((capability) => !hostCapabilities.includes(capability));
  const { hostRole = missing === undefined ? "execution" : "specialized" } = announced;
  if (hostRole === "execution" && missing !== undefined)
    throw refusal(`nodeRuntime.hostCapabilities: an execution host needs ${missing}`);
  return { tools, runtime: { ...announced, hostRole } };
}

function parseRuntime(given: unknown): AnnouncedRuntime {
  if (given === undefined) throw refusal("nodeRuntime: a node needs one");
  const parsed = v.safeParse(nodeRuntimeField, given, { abortEarly: true });
  if (!parsed.success) {
    const [issue] = parsed.issues;
    const field = ["nodeRuntime", v.getDotPath(issue)].filter((part) => part !== null).join(".");
    throw refusal(`${field}: ${issue.message}`);
  }
  const runtime = parsed.output;
  if (runtime.hostCapabilities.length === 0)
    throw refusal("nodeRuntime.hostCapabilities: a node needs at least one");
  const known = new Set<string>(capabilities);
  const named = [...runtime.hostCapabilities, ...Object.values(runtime.toolCapabilities).flat()];
  const unknown = named.find((capability) => !known.has(capability));
  if (unknown !== undefined) throw refusal(`nodeRuntime: unknown capability ${unknown.slice(0, 64)}`);
  return runtime;
}

/** Checks that tool names are unique, model providers accept the input schemas, and the host has the tools' capabilities. */
function checkTools(
  tools: readonly ToolDefinition[],
  { hostCapabilities, toolCapabilities }: AnnouncedRuntime,
): void {
  const names = new Set<string>();
  for (const { name, inputSchema } of tools) {
    if (names.has(name)) throw refusal(`tools: ${name} is announced twice`);
    names.add(name);
    const fault = schemaFault(inputSchema);
    if (fault !== undefined) throw refusal(`tools: the input schema of ${name}: ${fault}`);
    const needed = Object.hasOwn(toolCapabilities, name) ? toolCapabilities[name] : undefined;
    if (!needed) throw refusal(`nodeRuntime.toolCapabilities: the tool ${name} is missing`);
    if (needed.length === 0) throw refusal(`nodeRuntime.toolCapabilities.${name}: expected at least one`);
    const lacking = needed.find((capability) => !hostCapabilities.includes(capability));
    if (lacking !== undefined)
      throw refusal(`nodeRuntime.toolCapabilities.${name}: the host does not have ${lacking}`);
  }
  const unannounced = Object.keys(toolCapabilities).find((name) => !names.has(name));
  if (unannounced !== undefined)
    throw refusal(`nodeRuntime.toolCapabilities: there is no tool ${unannounced.slice(0, 64)}`);
}

function refusal(reason: string): PeerError {
  return new PeerError(code.badClient, reason);
}
