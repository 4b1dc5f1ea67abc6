import type { CommandEntry } from "../../app/program.ts";

/** `gsv node`, and the commands about nodes */
export const nodeCommand: CommandEntry = {
  name: "node",
  summary: "lend this machine's files and shell to the agent, until Ctrl-C",
  options: [
    ["--id <id>", "name of this node (default: the config file's, else this machine's name)"],
    ["--workspace <folder>", "where relative paths start (default: the config file's, else this folder)"],
  ],
  examples: ["node --id laptop --workspace ~/projects"],
  load: async () => (await import("./node-command.ts")).node,
  commands: [
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

/** `gsv logs` */
export const logsCommand: CommandEntry = {
  name: "logs",
  summary: "the newest log lines of a node",
  options: [
    ["--node <id>", "which node (needed when several are connected)"],
    ["--lines <n>", "how many (default 100, most 5000)"],
  ],
  examples: ["logs --node laptop --lines 50"],
  load: async () => (await import("./logs-command.ts")).logs,
};
