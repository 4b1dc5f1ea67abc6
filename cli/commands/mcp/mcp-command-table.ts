import type { CommandEntry } from "../../app/program.ts";

/** `gsv mcp …`: the MCP servers whose tools the agent calls, and the programs that use the agent. */
export const mcpCommand: CommandEntry = {
  name: "mcp",
  summary: "MCP servers whose tools the agent calls, and programs that use the agent",
  examples: ["mcp add docs https://mcp.example/mcp", "mcp list"],
  commands: [
    {
      name: "add <name> <url>",
      summary: "add a server or change its address, and ask for its tools",
      options: [
        ["--bearer <token>", "a token for the server; - asks for it"],
        ["--class <class>", "what its tools can do at least: read, web, write, message (default) or exec"],
      ],
      examples: ["mcp add docs https://mcp.example/mcp", "mcp add wiki https://wiki.example/mcp --bearer -"],
      load: async () => (await import("./mcp-commands.ts")).addServer,
    },
    {
      name: "login <name>",
      summary: "log in at a server in the browser",
      examples: ["mcp login docs"],
      load: async () => (await import("./mcp-commands.ts")).loginServer,
    },
    {
      name: "list",
      summary: "the servers, their addresses and the number of their tools",
      examples: ["mcp list", "mcp list --json"],
      load: async () => (await import("./mcp-commands.ts")).listServers,
    },
    {
      name: "tools [name]",
      summary: "the tools that the agent may call, of all servers or of one",
      examples: ["mcp tools", "mcp tools docs"],
      load: async () => (await import("./mcp-commands.ts")).listTools,
    },
    {
      name: "probe <name>",
      summary: "ask a server for its tools now",
      examples: ["mcp probe docs"],
      load: async () => (await import("./mcp-commands.ts")).probeServer,
    },
    {
      name: "remove <name>",
      summary: "remove a server with its tokens",
      examples: ["mcp remove docs"],
      load: async () => (await import("./mcp-commands.ts")).removeServer,
    },
    {
      name: "approve <code>",
      summary: "let a program in that asks to use the agent, after showing who asks for what",
      options: [
        ["--scopes <list>", "only these: mcp, mcp:nodes (default: what it asks for)"],
        ["--yes", "do not ask"],
      ],
      examples: ["mcp approve k7m2-pq9x", "mcp approve k7m2-pq9x --scopes mcp"],
      load: async () => (await import("./program-commands.ts")).approveProgram,
    },
    {
      name: "deny <code>",
      summary: "refuse a program that asks to use the agent; its code ends",
      examples: ["mcp deny k7m2-pq9x"],
      load: async () => (await import("./program-commands.ts")).denyProgram,
    },
    {
      name: "config <program>",
      summary: "what to paste so that claude, cursor or codex uses the agent",
      examples: ["mcp config claude", "mcp config cursor --json"],
      load: async () => (await import("./program-commands.ts")).configProgram,
    },
  ],
};
