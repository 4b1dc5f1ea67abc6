import * as v from "valibot";

/** A server's name. It is part of the names of its tools, and of the paths of its secrets. `gsv` is the gateway itself. */
export const serverName = v.pipe(
  v.string(),
  v.regex(/^(?!gsv$)[a-z0-9](?:[a-z0-9-]{0,22}[a-z0-9])?$/, "expected a name of a-z, 0-9 and -, at most 24"),
);

/** What the tools of a server can do at least, from the least to the most. */
export const serverClasses = ["read", "web", "write", "message", "exec"] as const;
export type ServerClass = (typeof serverClasses)[number];

export const mcpParams = {
  "mcp.add": v.object({
    name: serverName,
    url: v.pipe(v.string(), v.maxLength(2048)),
    token: v.optional(v.pipe(v.string(), v.minLength(1), v.maxBytes(4096))),
    class: v.optional(v.picklist(serverClasses)),
  }),
  "mcp.list": v.optional(v.object({}), {}),
  "mcp.tools": v.optional(v.object({ name: v.optional(serverName) }), {}),
  "mcp.probe": v.object({ name: serverName }),
  "mcp.login": v.object({ name: serverName }),
  "mcp.login.finish": v.object({ name: serverName }),
  "mcp.remove": v.object({ name: serverName }),
} as const;

/** What a server answered just now. `fault`: why not, in one sentence. */
export interface McpProbe {
  name: string;
  tools: number;
  /** Of MCP, as the server speaks it. */
  protocol?: "2026-07-28" | "earlier";
  /** Milliseconds. */
  durationMs: number;
  fault?: string;
  /** The owner has to log in first. */
  needsLogin?: true;
}

/** A configured server. Times in epoch ms. */
export interface McpServerEntry {
  name: string;
  url: string;
  enabled: boolean;
  class: string;
  auth: "none" | "token" | "login";
  /** As last listed; absent: never. */
  tools?: number;
  listedAt?: number;
  /** Its login was over when it was used last. */
  needsLogin?: true;
}

/** A tool of a server, as the agent may call it. */
export interface McpToolEntry {
  /** By which the model calls it. */
  name: string;
  server: string;
  /** The server's own name. */
  tool: string;
  class: string;
  description: string;
}

export interface McpResults {
  "mcp.add": McpProbe;
  "mcp.list": { servers: McpServerEntry[]; count: number };
  "mcp.tools": { tools: McpToolEntry[]; count: number };
  "mcp.probe": McpProbe;
  /** The owner opens `address` in a browser before `until`, epoch ms. */
  "mcp.login": { address: string; until: number };
  "mcp.login.finish": { status: "waiting" } | ({ status: "done" } & McpProbe);
  "mcp.remove": { ok: true; removed: boolean };
}
