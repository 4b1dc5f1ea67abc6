import type { CommandEntry } from "../app/program.ts";
import { channelCommands, pairCommands } from "./channel/channel-command-table.ts";
import { sessionCommands } from "./session/session-command-table.ts";
import { workspaceCommands } from "./workspace/workspace-command-table.ts";

const tokenCommands: readonly CommandEntry[] = [
  {
    name: "create <name>",
    summary: "create a token; it is shown only once",
    options: [
      ["--scopes <list>", "of client, node, channel, admin (default client)"],
      ["--channel <name>", "channel of the bridge; required with the scope channel"],
      ["--account <id>", "account of the bridge on that channel (default: default)"],
    ],
    examples: [
      "token create laptop --scopes client,node",
      "token create signal --scopes channel --channel signal",
    ],
    load: async () => (await import("./setup/token-commands.ts")).createToken,
  },
  {
    name: "list",
    summary: "tokens, their scopes and last use",
    examples: ["token list"],
    load: async () => (await import("./setup/token-commands.ts")).listTokens,
  },
  {
    name: "revoke <id>",
    summary: "revoke a token by its id",
    examples: ["token revoke k7m2pq9xwd"],
    load: async () => (await import("./setup/token-commands.ts")).revokeToken,
  },
];

/** Every command of `gsv`, in the order of its help. */
export const commands: readonly CommandEntry[] = [
  {
    name: "client [message]",
    summary: "chat: interactive, one message, or a message a line from standard input (-)",
    options: [
      ["--session <key>", "session to talk in (default: the config file's, else agent:main:main)"],
      [
        "--image <file>",
        "image to send with the message: JPEG, PNG, GIF or WebP up to 25 MB; may be given several times",
        "repeatable",
      ],
    ],
    examples: [
      "client",
      'client "which files are in this folder?"',
      'client --image photo.jpg "what is this?"',
      "printf 'hello\\nand again\\n' | gsv client",
    ],
    load: async () => (await import("./session/client-command.ts")).client,
  },
  {
    name: "node",
    summary: "lend this machine's files and shell to the agent, until Ctrl-C",
    options: [
      ["--id <id>", "name of this node (default: the config file's, else this machine's name)"],
      ["--workspace <folder>", "where relative paths start (default: the config file's, else this folder)"],
    ],
    examples: ["node --id laptop --workspace ~/projects"],
    load: async () => (await import("./node/node-command.ts")).node,
    commands: [
      {
        name: "forget <id>",
        summary: "let another token use a node's id, which belongs to the token that used it first",
        options: [["--force", "also when the node is connected; its connection is ended"]],
        examples: ["node forget laptop", "node forget laptop --force"],
        load: async () => (await import("./node/forget-command.ts")).forgetNode,
      },
    ],
  },
  {
    name: "dev",
    summary: "the whole system on this machine: local AWS, a node, and a chat",
    options: [
      ["--serve", "only serve: no chat and no node, until Ctrl-C"],
      ["--port <n>", "port of the WebSocket API (default: the last one, or any that is free)"],
      ["--webhook-url <url>", "where the internet reaches the webhook, such as a tunnel's https address"],
      ["--fsync", "wait for the disk at every write: nothing is lost when the power fails"],
    ],
    examples: ["dev", "dev --serve --json --port 8787", "printf 'which files are here?\\n' | gsv dev"],
    load: async () => (await import("./setup/dev-command.ts")).dev,
  },
  {
    name: "config",
    summary: "read and change the gateway's configuration",
    examples: ["config get model"],
    commands: [
      {
        name: "get [path]",
        summary: "one value, or everything; secrets are masked",
        examples: ["config get", "config get timeouts.toolMs"],
        load: async () => (await import("./setup/config-commands.ts")).getConfig,
      },
      {
        name: "set <path> [value]",
        summary:
          "set a value, as JSON or text; without a value, or with -, it is asked for or read from standard input",
        examples: [
          "config set model.id claude-sonnet-5",
          "config set timeouts.toolMs 120000",
          "config set apiKeys.anthropic -",
        ],
        load: async () => (await import("./setup/config-commands.ts")).setConfig,
      },
    ],
  },
  {
    name: "session",
    summary: "list, inspect, change and reset sessions",
    examples: ["session list"],
    commands: sessionCommands,
  },
  {
    name: "tools",
    summary: "the tools of connected nodes: list them, call one yourself",
    examples: ["tools list"],
    commands: [
      {
        name: "list",
        summary: "the tools of connected nodes",
        examples: ["tools list"],
        load: async () => (await import("./node/tool-commands.ts")).listTools,
      },
      {
        name: "call <tool> [args...]",
        summary: "call a tool; arguments as name=value or with --args",
        options: [["--args <json>", "all arguments as one JSON object"]],
        examples: [
          'tools call laptop__Bash command="ls -la"',
          `tools call laptop__Glob --args '{"pattern":"*.md"}'`,
        ],
        load: async () => (await import("./node/tool-commands.ts")).callTool,
      },
    ],
  },
  {
    name: "workspace",
    summary: "the agent's files",
    examples: ["workspace ls"],
    commands: workspaceCommands,
  },
  {
    name: "agent",
    summary: "the agents themselves",
    examples: ["agent init"],
    commands: [
      {
        name: "init [agentId]",
        summary: "write the initial files of an agent (soul, identity, memory, first-run ceremony, …)",
        examples: ["agent init", "agent init research"],
        load: async () => (await import("./workspace/agent-command.ts")).initAgent,
      },
    ],
  },
  {
    name: "token",
    summary: "access tokens, one a device",
    examples: ["token list"],
    commands: tokenCommands,
  },
  {
    name: "channel",
    summary: "messaging platforms of the agent: Telegram, WhatsApp, Slack, Discord",
    examples: ["channel add telegram", "channel status"],
    commands: channelCommands,
  },
  {
    name: "pair",
    summary: "requests of unknown senders to write to the agent: list, approve, reject",
    examples: ["pair list", "pair approve telegram 5001002003"],
    commands: pairCommands,
  },
  {
    name: "logs",
    summary: "the newest log lines of a node",
    options: [
      ["--node <id>", "which node (needed when several are connected)"],
      ["--lines <n>", "how many (default 100, most 5000)"],
    ],
    examples: ["logs --node laptop --lines 50"],
    load: async () => (await import("./node/logs-command.ts")).logs,
  },
  {
    name: "deploy",
    summary: "put your own gateway on AWS, create the first token, and save both here",
    options: [
      ["--stage <name>", "stage to deploy (default: the config file's, else dev)"],
      [
        "-c, --context <key=value>",
        "setting of the stage, such as alarmEmail; kept in the config file; may be given several times",
        "repeatable",
      ],
      ["--profile <name>", "AWS profile"],
      ["--region <name>", "AWS region"],
      ["--yes", "do not ask before AWS resources and permissions change"],
    ],
    examples: [
      "deploy --stage dev --profile personal --region eu-central-1",
      "deploy -c alarmEmail=you@example.com",
      "deploy --stage prod --config ~/.config/gsv/prod.toml",
    ],
    load: async () => (await import("./setup/deploy-command.ts")).deploy,
  },
  {
    name: "status",
    summary: "configuration, connection to the gateway, and connected nodes",
    examples: ["status"],
    load: async () => (await import("./setup/status-command.ts")).status,
  },
  {
    name: "init",
    summary: "write the config file, after testing the connection",
    options: [
      ["--node-id <id>", "name of this machine's node"],
      ["--workspace <folder>", "workspace of this machine's node"],
      ["--session <key>", "default session of the commands"],
      ["--no-test", "save without connecting"],
    ],
    examples: ["init", "init --url wss://abc.execute-api.eu-central-1.amazonaws.com/ws --token -"],
    load: async () => (await import("./setup/init-command.ts")).init,
  },
];
