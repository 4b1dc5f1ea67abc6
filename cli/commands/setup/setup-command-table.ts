import type { CommandEntry } from "../../app/program.ts";

const tokenCommands: readonly CommandEntry[] = [
  {
    name: "create <name>",
    summary: "create a token, which is shown only once",
    options: [
      ["--scopes <list>", "any of client, node, channel, approve, admin, mcp, mcp:nodes (default client)"],
      ["--channel <name>", "channel of the bridge; required with the scope channel"],
      ["--account <id>", "account of the bridge on that channel (default: default)"],
    ],
    examples: [
      "token create laptop --scopes client,node",
      "token create signal --scopes channel --channel signal",
    ],
    load: async () => (await import("./token-commands.ts")).createToken,
  },
  {
    name: "list",
    summary: "tokens, their scopes, and their last or current use",
    examples: ["token list"],
    load: async () => (await import("./token-commands.ts")).listTokens,
  },
  {
    name: "revoke <id>",
    summary: "revoke a token by its id",
    examples: ["token revoke k7m2pq9xwd"],
    load: async () => (await import("./token-commands.ts")).revokeToken,
  },
];

/** `gsv dev` */
export const devCommand: CommandEntry = {
  name: "dev",
  summary: "the whole system on this machine: local AWS, a node, and a chat",
  options: [
    ["--serve", "only run the gateway, without chat and node, until Ctrl-C"],
    ["--port <n>", "port of the WebSocket API; 0 for any free port (default: the last one)"],
    ["--webhook-url <url>", "public address of the webhook, such as a tunnel's https address"],
    ["--allow-host <names>", "hosts under which a tunnel or proxy forwards requests, besides the webhook's"],
    ["--fsync", "wait for the disk at every write, so that a power failure loses nothing"],
    ["--plain", "show answers unchanged, without Markdown styles"],
  ],
  examples: ["dev", "dev --serve --json --port 8787", "printf 'which files are here?\\n' | gsv dev"],
  load: async () => (await import("./dev-command.ts")).dev,
};

/** `gsv config …` */
export const configCommand: CommandEntry = {
  name: "config",
  summary: "read and change the gateway's configuration",
  examples: ["config get model"],
  commands: [
    {
      name: "get [path]",
      summary: "one value, or everything; secrets are masked",
      examples: ["config get", "config get timeouts.toolMs"],
      load: async () => (await import("./config-commands.ts")).getConfig,
    },
    {
      name: "list",
      summary: "every setting with its value, and with its default if it was changed",
      options: [["--changed", "only settings that differ from their defaults"]],
      examples: ["config list", "config list --changed --json"],
      load: async () => (await import("./config-commands.ts")).listConfig,
    },
    {
      name: "set <path> [value]",
      summary:
        "set a value, as JSON or text; without a value, or with -, asks for it or reads standard input",
      examples: [
        "config set model.id claude-sonnet-5",
        "config set timeouts.toolMs 120000",
        "config set apiKeys.anthropic -",
      ],
      load: async () => (await import("./config-commands.ts")).setConfig,
    },
    {
      name: "unset <path>",
      summary: "reset a setting, and all below it, to the default; deletes a secret",
      examples: ["config unset timeouts.toolMs", "config unset apiKeys.anthropic"],
      load: async () => (await import("./config-commands.ts")).unsetConfig,
    },
  ],
};

/** `gsv local-config …` */
export const localConfigCommand: CommandEntry = {
  name: "local-config",
  summary: "read and change the config file of this program on this machine",
  examples: ["local-config show"],
  commands: [
    {
      name: "show",
      summary: "all settings; the token is masked",
      examples: ["local-config show", "local-config show --json"],
      load: async () => (await import("./local-config-commands.ts")).showLocalConfig,
    },
    {
      name: "get <key>",
      summary: "one setting, even a secret",
      examples: ["local-config get gateway.url"],
      load: async () => (await import("./local-config-commands.ts")).getLocalConfig,
    },
    {
      name: "set <key> [value]",
      summary: "set one; without a value, or with -, asks for it or reads standard input",
      examples: ["local-config set session.default_key agent:main:work", "local-config set gateway.token -"],
      load: async () => (await import("./local-config-commands.ts")).setLocalConfig,
    },
    {
      name: "path",
      summary: "the name of the file",
      examples: ["local-config path"],
      load: async () => (await import("./local-config-commands.ts")).showLocalConfigPath,
    },
  ],
};

const stageOption = ["--stage <name>", "the stage (default: the config file's, else dev)"] as const;

const accountOptions = [
  ["--profile <name>", "AWS profile"],
  ["--region <name>", "AWS region"],
] as const;

/** `gsv admin` */
export const adminCommand: CommandEntry = {
  name: "admin",
  summary: "print a token with admin rights for 15 minutes: by AWS credentials, or by a code of `gsv dev`",
  options: [
    ["--code <code>", "the code that the local gateway shows in its terminal"],
    ["--stage <name>", "the stage (default: the config file's, for its gateway)"],
    ...accountOptions,
  ],
  examples: ["admin", "admin --stage prod --profile personal", "admin --code k7m2-pq9x"],
  load: async () => (await import("./admin-command.ts")).admin,
};

/** `gsv open` */
export const openCommand: CommandEntry = {
  name: "open",
  summary: "open the gateway's page in the browser, signed in by a code that works once",
  options: [
    ["--phone", "show a QR code and 8 characters to type, for a phone or another computer"],
    ["--name <name>", "name of the device in `gsv token list`"],
  ],
  examples: ["open", "open --phone --name phone"],
  load: async () => (await import("./open-command.ts")).openPage,
};

/** `gsv token …` */
export const tokenCommand: CommandEntry = {
  name: "token",
  summary: "access tokens, one per device",
  examples: ["token list"],
  commands: tokenCommands,
};

/** `gsv deploy` */
export const deployCommand: CommandEntry = {
  name: "deploy",
  summary: "deploy your own gateway to AWS, create the first token, and save both here",
  options: [
    stageOption,
    [
      "-c, --context <key=value>",
      "setting of the stage, such as alarmEmail, metrics ($1.20 a month) or tracing ($0.26 when idle); saved in the config file; may be given several times",
      "repeatable",
    ],
    ...accountOptions,
    ["--accept-model-terms", "accept the terms of the model, if nobody has in this account"],
    ["--no-preflight", "deploy although the account has faults"],
    ["--adopt", "use the table and bucket that an earlier destroy kept, so that its conversations continue"],
    ["--yes", "do not ask before AWS resources and permissions change"],
  ],
  examples: [
    "deploy --stage dev --profile personal --region eu-central-1",
    "deploy -c alarmEmail=you@example.com",
    "deploy --stage prod --config ~/.config/gsv/prod.toml",
  ],
  load: async () => (await import("./deploy-command.ts")).deploy,
  commands: [
    {
      name: "status",
      summary: "the deployed stack, its version, and whether a deployment would change it",
      options: [
        stageOption,
        ...accountOptions,
        ["--no-diff", "skip the comparison with this checkout, which takes a minute"],
      ],
      examples: ["deploy status", "deploy status --stage prod --no-diff --json"],
      load: async () => (await import("./deploy-status.ts")).deployStatus,
    },
    {
      name: "destroy",
      summary: "delete a stage's stack, after asking for its name; its table, bucket and secrets remain",
      options: [
        stageOption,
        ...accountOptions,
        [
          "--delete-data",
          "also delete all its tables, buckets and secrets, after asking again; cannot be undone",
        ],
        ["--yes", "do not ask"],
      ],
      examples: ["deploy destroy", "deploy destroy --stage test --delete-data"],
      load: async () => (await import("./deploy-destroy.ts")).destroy,
    },
  ],
};

/** `gsv status` */
export const statusCommand: CommandEntry = {
  name: "status",
  summary: "configuration, connection to the gateway, and connected nodes",
  examples: ["status"],
  load: async () => (await import("./status-command.ts")).status,
};

/** `gsv init` */
export const initCommand: CommandEntry = {
  name: "init",
  summary: "write the config file, after testing the connection",
  options: [
    ["--node-id <id>", "name of this machine's node"],
    ["--workspace <folder>", "workspace of this machine's node"],
    ["--session <key>", "default session of the commands"],
    ["--no-test", "save without connecting"],
    ["--force", "replace the url and token of another gateway without asking"],
  ],
  examples: ["init", "init --url wss://abc.execute-api.eu-central-1.amazonaws.com/ws --token -"],
  load: async () => (await import("./init-command.ts")).init,
};
