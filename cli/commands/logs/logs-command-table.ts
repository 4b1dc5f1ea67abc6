import type { CommandEntry } from "../../app/program.ts";

/** `gsv logs` */
export const logsCommand: CommandEntry = {
  name: "logs",
  summary: "the newest log lines of a node, or of the gateway; with -f also those that come",
  options: [
    ["-f, --follow", "go on with what is written, until Ctrl-C"],
    ["--node <id>", "which node (needed when several are connected)"],
    ["--lines <n>", "how many (default 100, most 5000)"],
    ["--gateway", "of the gateway: the files of a local one, or CloudWatch by the AWS command line"],
    ["--function <name>", "with --gateway on AWS: only of socket, webhook, timer or agent"],
    ["--since <duration>", "with --gateway on AWS: how far back, such as 1h (default 10m)"],
    ["--stage <name>", "with --gateway on AWS: which stage (default: the config file's)"],
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
