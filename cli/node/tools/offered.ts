import type { NodeRuntime } from "../../../shared/protocol/schemas.ts";
import * as bash from "./bash.ts";
import * as edit from "./edit.ts";
import * as glob from "./glob.ts";
import * as grep from "./grep.ts";
import type { NodeTool } from "./node-tool.ts";
import * as process from "./process.ts";
import * as read from "./read.ts";
import * as write from "./write.ts";

/** What this machine offers, in the order it is announced. */
export const nodeTools: readonly NodeTool[] = [
  { ...bash, capabilities: ["shell.exec"] },
  { ...process, capabilities: ["shell.exec"] },
  { ...read, capabilities: ["filesystem.read"] },
  { ...write, capabilities: ["filesystem.write"] },
  { ...edit, capabilities: ["filesystem.edit"] },
  { ...glob, capabilities: ["filesystem.list"] },
  { ...grep, capabilities: ["text.search"] },
];

/** The most environment variable names `connect` takes. */
const mostEnvNames = 1000;

/**
 * What `connect` announces about this host: docs/protocol.md, "connect", mode node. Of the environment only the names,
 * and not the gateway's token.
 */
export function describeHost(environment: NodeJS.ProcessEnv, platform: string): NodeRuntime {
  const names = Object.keys(environment).filter((name) => name !== "GSV_TOKEN");
  return {
    hostRole: "execution",
    hostCapabilities: [...new Set(nodeTools.flatMap((tool) => tool.capabilities))],
    toolCapabilities: Object.fromEntries(nodeTools.map((tool) => [tool.definition.name, tool.capabilities])),
    hostOs: platform,
    hostEnv: names.sort().slice(0, mostEnvNames),
  };
}
