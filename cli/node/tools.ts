import type { NodeRuntime } from "../../shared/protocol/schemas.ts";
import type { NodeTool } from "./tool.ts";
import * as bash from "./tools/bash.ts";
import * as edit from "./tools/edit.ts";
import * as glob from "./tools/glob.ts";
import * as grep from "./tools/grep.ts";
import * as process from "./tools/process.ts";
import * as read from "./tools/read.ts";
import * as write from "./tools/write.ts";

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
