import type { CommandEntry } from "../../app/program.ts";

/** `gsv logs` */
export const logsCommand: CommandEntry = {
  name: "logs",
  summary: "the newest log lines of a node or of the gateway; -f follows the log",
  options: [
    ["-f, --follow", "print new lines until Ctrl-C"],
    ["--node <id>", "the node (required when several are connected)"],
    ["--lines <n>", "number of lines (default 100, max 5000)"],
    ["--gateway", "the gateway's log: local files, or CloudWatch through the AWS command line"],
    ["--function <name>", "with --gateway on AWS: only socket, webhook, timer or agent"],
    ["--since <duration>", "with --gateway on AWS: how far back, such as 1h (default 10m)"],
    ["--stage <name>", "with --gateway on AWS: the stage (default: the config file's)"],
    ["--profile <name>", "AWS profile"],
    ["--region <name>", "AWS region (default: that of the gateway's address)"],
  ],
  examples: [
    "logs --node laptop --lines 50",
    "logs -f",
    "logs --gateway -f",
    "logs --gateway --function agent",
  ],
  load: async () => (await import("./logs-command.ts")).logs,
};
