import type { CommandEntry } from "../../app/program.ts";

const nodeOptions: NonNullable<CommandEntry["options"]> = [
  ["--id <id>", "name of this node (default: the config file's, else this machine's name)"],
  ["--workspace <folder>", "where relative paths start (default: the config file's, else this folder)"],
];

const service = async () => (await import("./service/service-commands.ts")).serviceCommands(process.platform);

/** The commands about the node as a service of this machine. */
const serviceEntries: readonly CommandEntry[] = [
  {
    name: "install",
    summary: "run the node as a service of this machine (systemd, launchd): now, and after each start",
    options: nodeOptions,
    examples: ["node install --id laptop --workspace ~/projects", "node install --token -"],
    load: async () => (await service()).install,
  },
  {
    name: "uninstall",
    summary: "end the service and remove it, with its token",
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
    summary: "stop the service until it is started, or this machine is",
    examples: ["node stop"],
    load: async () => (await service()).stop,
  },
  {
    name: "status",
    summary: "whether the service is installed, runs, and is connected; its last error",
    examples: ["node status", "node status --json"],
    load: async () => (await service()).status,
  },
  {
    name: "logs",
    summary: "the newest lines of the service's log on this machine",
    options: [
      ["-f, --follow", "go on with what is written, until Ctrl-C"],
      ["--lines <n>", "how many lines (default 100)"],
    ],
    examples: ["node logs -f", "node logs --lines 20"],
    load: async () => (await service()).logs,
  },
];

/** `gsv node`, and the commands about nodes */
export const nodeCommand: CommandEntry = {
  name: "node",
  summary: "lend this machine's files and shell to the agent, until Ctrl-C",
  options: [
    ...nodeOptions,
    [
      "--unattended <file>",
      "as a service: log to this file, and after a refusal wait ten minutes before it ends",
    ],
  ],
  examples: ["node --id laptop --workspace ~/projects", "node --unattended ~/gsv-node.log"],
  load: async () => (await import("./node-command.ts")).node,
  commands: [
    ...serviceEntries,
    {
      name: "forget <id>",
      summary: "let another token use a node's id, which belongs to the token that used it first",
      options: [["--force", "also when the node is connected; its connection is ended"]],
      examples: ["node forget laptop", "node forget laptop --force"],
      load: async () => (await import("./forget-command.ts")).forgetNode,
    },
  ],
};

/** `gsv tools …` */
export const toolsCommand: CommandEntry = {
  name: "tools",
  summary: "the tools of connected nodes: list them, call one yourself",
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
      options: [["--args <json>", "all arguments as one JSON object, which may also stand behind the tool"]],
      examples: ['tools call laptop__Bash command="ls -la"', `tools call laptop__Glob '{"pattern":"*.md"}'`],
      load: async () => (await import("./tool-commands.ts")).callTool,
    },
  ],
};
