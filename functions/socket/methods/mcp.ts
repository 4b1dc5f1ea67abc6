import type { MethodTable } from "../gateway.ts";

/** Loaded at the first use: most gateways have no servers. */
const manage = () => import("../../../shared/mcp/manage-servers.ts");

export const mcpMethods: Pick<
  MethodTable,
  "mcp.add" | "mcp.list" | "mcp.tools" | "mcp.probe" | "mcp.login" | "mcp.login.finish" | "mcp.remove"
> = {
  "mcp.add": {
    modes: ["client"],
    scope: "admin",
    handle: async ({ servers }, { name, url, token, class: least }) =>
      (await manage()).addServer(servers, {
        ...{ name, url },
        ...(token === undefined ? {} : { token }),
        ...(least === undefined ? {} : { class: least }),
      }),
  },
  "mcp.list": {
    modes: ["client"],
    async handle({ servers }) {
      const found = await (await manage()).listServers(servers);
      return { servers: found, count: found.length };
    },
  },
  "mcp.tools": {
    modes: ["client"],
    async handle({ servers }, { name }) {
      const tools = await (await manage()).listTools(servers, name);
      return { tools, count: tools.length };
    },
  },
  "mcp.probe": {
    modes: ["client"],
    handle: async ({ servers }, { name }) => (await manage()).probeServer(servers, name),
  },
  "mcp.login": {
    modes: ["client"],
    scope: "admin",
    forDevices: true,
    handle: async ({ servers }, { name }) => (await manage()).loginServer(servers, name),
  },
  "mcp.login.finish": {
    modes: ["client"],
    scope: "admin",
    forDevices: true,
    async handle({ servers }, { name }) {
      const done = await (await manage()).finishServerLogin(servers, name);
      return done ? { status: "done", ...done } : { status: "waiting" };
    },
  },
  "mcp.remove": {
    modes: ["client"],
    scope: "admin",
    handle: async ({ servers }, { name }) => ({
      ok: true,
      removed: await (await manage()).removeServer(servers, name),
    }),
  },
};
