import type { CommandEntry } from "../../app/program.ts";

const nodeOptions: NonNullable<CommandEntry["options"]> = [
  ["--id <id>", "name of this node (default: the config file's, else this machine's name)"],
  ["--workspace <folder>", "base folder of relative paths (default: the config file's, else this folder)"],
];

const service = async () => {
  const [{ serviceCommands }, { nodeService }] = await Promise.all([
    import("../daemon/service-commands.ts"),
    import("./supervised-node.ts"),
  ]);
  return serviceCommands(nodeService, process.platform);
};

/** The commands that manage the node as a service. */
const serviceEntries: readonly CommandEntry[] = [
  {
    name: "install",
    summary: "run the node as a service (systemd, launchd), now and after each boot",
    options: nodeOptions,
    examples: ["node install --id laptop --workspace ~/projects", "node install --token -"],
    load: async () => (await service()).install,
  },
  {
    name: "uninstall",
    summary: "stop and remove the service and its token",
    examples: ["node uninstall"],
    load: async () => (await service()).uninstall,
  },
  {
    name: "start",
    summary: "start the stopped service",
    examples: ["node start"],
    load: async () => (await service()).start,
  },
  {
    name: "stop",
    summary: "stop the service until `gsv node start` or the next boot",
    examples: ["node stop"],
    load: async () => (await service()).stop,
  },
  {
    name: "status",
    summary: "whether the service is installed, running and connected; its last error; MCP servers",
    examples: ["node status", "node status --json"],
    load: async () => (await service()).status,
  },
  {
    name: "logs",
    summary: "the newest lines of the service's log on this machine",
    options: [
      ["-f, --follow", "print new lines until Ctrl-C"],
      ["--lines <n>", "number of lines (default 100)"],
    ],
    examples: ["node logs -f", "node logs --lines 20"],
    load: async () => (await service()).logs,
  },
];

/** `gsv node …` */
export const nodeCommand: CommandEntry = {
  name: "node",
  summary: "give the agent access to this machine's files and shell, until Ctrl-C",
  options: [
    ...nodeOptions,
    ["--mcp <file>", "run the MCP servers of this file (default: ~/.config/gsv/mcp.json, if it exists)"],
    [
      "--unattended <file>",
      "run as a service: log to this file, and wait ten minutes before exiting after a refusal",
    ],
  ],
  examples: ["node --id laptop --workspace ~/projects", "node --unattended ~/gsv-node.log"],
  load: async () => (await import("./node-command.ts")).node,
  commands: [
    ...serviceEntries,
    {
      name: "forget <id>",
      summary: "release a node's id, which is bound to the token that first used it",
      options: [["--force", "also when the node is connected; closes its connection"]],
      examples: ["node forget laptop", "node forget laptop --force"],
      load: async () => (await import("./node-command.ts")).forgetNode,
    },
  ],
};

/** `gsv tools …` */
export const toolsCommand: CommandEntry = {
  name: "tools",
  summary: "list and call the tools of connected nodes",
  examples: ["tools list"],
  commands: [
    {
      name: "list",
      summary: "the tools of connected nodes",
      examples: ["tools list"],
      load: async () => (await import("./tool-commands.ts")).listTools,
    },
    {
      name: "call <tool> [args...]",
      summary: "call a tool; arguments as name=value, or all as one JSON object",
      options: [["--args <json>", "all arguments as one JSON object, which may also follow the tool's name"]],
      examples: ['tools call laptop__Bash command="ls -la"', `tools call laptop__Glob '{"pattern":"*.md"}'`],
      load: async () => (await import("./tool-commands.ts")).callTool,
    },
  ],
};

/** `gsv cp` */
export const copyCommand: CommandEntry = {
  name: "cp <source> <destination>",
  summary: "copy a file between this machine, nodes (laptop:/path) and the agent's workspace (gsv:path)",
  options: [["--agent <id>", "agent whose workspace gsv: names (default: the default agent)"]],
  examples: [
    "cp report.pdf laptop:~/Documents/",
    "cp laptop:/var/log/app.log.gz .",
    "cp laptop:film.mkv pi:/media/film.mkv",
    "cp gsv:notes/todo.md todo.md",
  ],
  load: async () => (await import("./copy-command.ts")).copyFile,
};
