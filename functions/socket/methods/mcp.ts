import {
  addServer,
  finishServerLogin,
  listServers,
  listTools,
  loginServer,
  probeServer,
  removeServer,
} from "../../../shared/mcp/manage-servers.ts";
import type { MethodTable } from "../gateway.ts";

export const mcpMethods: Pick<
  MethodTable,
  "mcp.add" | "mcp.list" | "mcp.tools" | "mcp.probe" | "mcp.login" | "mcp.login.finish" | "mcp.remove"
> = {
  "mcp.add": {
    modes: ["client"],
    scope: "admin",
    handle: ({ servers }, { name, url, token, class: least }) =>
      addServer(servers, {
        ...{ name, url },
        ...(token === undefined ? {} : { token }),
        ...(least === undefined ? {} : { class: least }),
      }),
  },
  "mcp.list": {
    modes: ["client"],
    async handle({ servers }) {
      const found = await listServers(servers);
      return { servers: found, count: found.length };
    },
  },
  "mcp.tools": {
    modes: ["client"],
    async handle({ servers }, { name }) {
      const tools = await listTools(servers, name);
      return { tools, count: tools.length };
    },
  },
  "mcp.probe": {
    modes: ["client"],
    handle: ({ servers }, { name }) => probeServer(servers, name),
  },
  "mcp.login": {
    modes: ["client"],
    scope: "admin",
    handle: ({ servers }, { name }) => loginServer(servers, name),
  },
  "mcp.login.finish": {
    modes: ["client"],
    scope: "admin",
    async handle({ servers }, { name }) {
      const done = await finishServerLogin(servers, name);
      return done ? { status: "done", ...done } : { status: "waiting" };
    },
  },
  "mcp.remove": {
    modes: ["client"],
    scope: "admin",
    handle: async ({ servers }, { name }) => ({ ok: true, removed: await removeServer(servers, name) }),
  },
};
