import type { CommandEntry } from "../../app/program.ts";

/** How a shell loads its completion, by shell. */
const shells = [
  ["bash", "add to ~/.bashrc", "completion bash >> ~/.bashrc"],
  ["zsh", "add to ~/.zshrc", "completion zsh >> ~/.zshrc"],
  ["fish", "write to fish's folder of completions", "completion fish > ~/.config/fish/completions/gsv.fish"],
] as const;

/** `gsv completion …`. @param all every command of `gsv`; called when a script is printed */
export function completionCommand(all: () => readonly CommandEntry[]): CommandEntry {
  return {
    name: "completion",
    summary: "complete commands and options in your shell with the Tab key",
    examples: ["completion bash >> ~/.bashrc"],
    commands: shells.map(([shell, todo, example]) => ({
      name: shell,
      summary: `the script for ${shell}: ${todo}`,
      examples: [example],
      load: async () => (await import("./completion-command.ts")).printCompletion(shell, all()),
    })),
  };
}

/** `gsv upgrade` */
export const upgradeCommand: CommandEntry = {
  name: "upgrade [file]",
  summary: "upgrade this program: a checkout with git, an installed package from a file",
  options: [["--check", "only show whether newer commits exist for a checkout"]],
  examples: ["upgrade", "upgrade --check", "upgrade ./gsv-cli-0.2.0.tgz"],
  load: async () => (await import("./upgrade-command.ts")).upgrade,
};

/** `gsv doctor` */
export const doctorCommand: CommandEntry = {
  name: "doctor",
  summary:
    "check node, ports, gateway, token, model, channels, sweep, clock, region and quota, and show what to do",
  examples: ["doctor", "doctor --json"],
  load: async () => (await import("../doctor/doctor-command.ts")).doctor,
};

/** `gsv logs` */
export const logsCommand: CommandEntry = {
  name: "logs",
  summary: "the newest log lines of a node or of the gateway; -f follows the log",
  options: [
    ["-f, --follow", "print new lines until Ctrl-C"],
    ["--node <id>", "the node (required when several are connected)"],
    ["--lines <n>", "number of lines (default 100, max 5000)"],
    ["--gateway", "the gateway's log: local files, or CloudWatch through the AWS command line"],
    ["--run <id>", "all log lines of one run, of all functions in order; on AWS with AWS credentials"],
    ["--function <name>", "on AWS: only socket, webhook, timer or agent"],
    ["--since <duration>", "on AWS: how far back, such as 1h (default 10m, with --run 1d)"],
    ["--stage <name>", "on AWS: the stage (default: the config file's)"],
    ["--profile <name>", "AWS profile"],
    ["--region <name>", "AWS region (default: that of the gateway's address)"],
  ],
  examples: [
    "logs --node laptop --lines 50",
    "logs -f",
    "logs --gateway -f",
    "logs --gateway --function agent",
    "logs --run 3f6c1f0e-6f0b-4b0e-9d43-0c0b7c1f1c55",
  ],
  load: async () => (await import("../logs/logs-command.ts")).logs,
};
