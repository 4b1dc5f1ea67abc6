import type { CommandEntry } from "../../app/program.ts";

/** `gsv usage` */
export const usageCommand: CommandEntry = {
  name: "usage",
  summary: "what the models cost today, this month and by day, and what their caches saved",
  options: [
    ["--by <part>", "day, agent, session, model, kind, channel or job (default day)"],
    ["--since <day>", "first day: 2026-11-01, or 7d for seven days (default: this month)"],
  ],
  examples: ["usage", "usage --by model --since 30d", "usage --by kind --json"],
  load: async () => (await import("./usage-command.ts")).showUsage,
};

/** `gsv budget …` */
export const budgetCommand: CommandEntry = {
  name: "budget",
  summary: "limits of what the models may cost",
  examples: ["budget set day=2 heartbeat=0.20", "budget list"],
  commands: [
    {
      name: "list",
      summary: "all budgets, and how much of each is used",
      examples: ["budget list", "budget list --json"],
      load: async () => (await import("./budget-commands.ts")).listBudgets,
    },
    {
      name: "set <budget=amount...>",
      summary:
        "set limits in dollars, or as in 50000tokens; off removes one. BUDGET is an existing one, day, month, run, a kind (turn, guest, heartbeat, cron, maintenance), or agent, channel, sender, job or session, alone or as in agent:work",
      options: [
        ["--per <period>", "day, month or session (default: as before, else day)"],
        ["--at-limit <action>", "warn, refuse, or ask you whether to go on"],
      ],
      examples: [
        "budget set day=2 heartbeat=0.20",
        "budget set month=40 --at-limit warn",
        "budget set agent:work=1 sender=0.10",
        "budget set cron=off",
      ],
      load: async () => (await import("./budget-commands.ts")).setBudgets,
    },
    {
      name: "raise <budget> <amount>",
      summary: "add an amount to a budget for today, or to a monthly one for this month",
      examples: ["budget raise day 5"],
      load: async () => (await import("./budget-commands.ts")).raiseBudget,
    },
  ],
};
