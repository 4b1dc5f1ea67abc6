import type { NodeRuntime } from "../../../shared/protocol/schemas.ts";
import { bashTool } from "./bash.ts";
import { editTool, writeTool } from "./edit.ts";
import { globTool } from "./glob.ts";
import { grepTool } from "./grep.ts";
import type { NodeTool } from "./node-tool.ts";
import { processTool } from "./process.ts";
import { readTool } from "./read.ts";

/** The tools of this node, in the order of `connect`. */
export const nodeTools: readonly NodeTool[] = [
  bashTool,
  processTool,
  readTool,
  writeTool,
  editTool,
  globTool,
  grepTool,
];

/** Maximum number of environment variable names in `connect`. */
const maxEnvNames = 1000;

/**
 * Describes this host for `connect` (docs/reference/protocol.md, "connect"). It contains the names of environment
 * variables, not their values, and not the name of the gateway's token.
 */
export function describeHost(
  environment: NodeJS.ProcessEnv,
  platform: string,
  tools: readonly NodeTool[] = nodeTools,
): NodeRuntime {
  const names = Object.keys(environment).filter((name) => name !== "GSV_TOKEN");
  return {
    hostRole: "execution",
    hostCapabilities: [...new Set(nodeTools.flatMap((tool) => tool.capabilities))],
    toolCapabilities: Object.fromEntries(tools.map((tool) => [tool.definition.name, tool.capabilities])),
    hostOs: platform,
    hostEnv: names.sort().slice(0, maxEnvNames),
  };
}
