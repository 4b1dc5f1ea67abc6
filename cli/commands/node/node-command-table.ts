import type { CommandEntry } from "../../app/program.ts";
import { serviceEntries, unattendedOption } from "../daemon/service-entries.ts";

const nodeOptions: NonNullable<CommandEntry["options"]> = [
  ["--id <id>", "name of this node (default: the config file's, else this machine's name)"],
  ["--workspace <folder>", "base folder of relative paths (default: the config file's, else this folder)"],
];

const service = serviceEntries(
  {
    words: "node",
    title: "the node",
    options: nodeOptions,
    installed: ["node install --id laptop --workspace ~/projects", "node install --token -"],
    shows: "; MCP servers",
  },
  async () => (await import("./supervised-node.ts")).nodeService,
);

/** `gsv node …` */
export const nodeCommand: CommandEntry = {
  name: "node",
  summary: "give the agent access to this machine's files and shell, until Ctrl-C",
  options: [
    ...nodeOptions,
    ["--mcp <file>", "run the MCP servers of this file (default: ~/.config/gsv/mcp.json, if it exists)"],
    unattendedOption,
  ],
  examples: ["node --id laptop --workspace ~/projects", "node --unattended ~/gsv-node.log"],
  load: async () => (await import("./node-command.ts")).node,
  commands: [
    ...service,
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
