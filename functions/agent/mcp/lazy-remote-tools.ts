import type { Configuration } from "../../../shared/configuration/schema.ts";
import type { RemoteTools, RemoteWorld } from "./remote-tools.ts";

/** The tools of MCP servers, whose code is loaded when a server is configured. */
export function createRemoteTools(world: RemoteWorld): RemoteTools {
  let opened: Promise<RemoteTools> | undefined;
  const open = () => (opened ??= import("./remote-tools.ts").then((module) => module.openRemoteTools(world)));
  const isUsed = ({ mcp }: Configuration) => Object.keys(mcp.servers).length > 0;
  return {
    prepare(configuration) {
      if (isUsed(configuration)) void open().then((tools) => tools.prepare(configuration));
    },
    offered: async (configuration) => (isUsed(configuration) ? (await open()).offered(configuration) : []),
    call: async (...asked) => (await open()).call(...asked),
    answer: async (...given) => (await open()).answer(...given),
    task: async (...asked) => (await open()).task(...asked),
    cancel: async (...asked) => (await open()).cancel(...asked),
  };
}
