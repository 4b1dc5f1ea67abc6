import type { CommandEntry } from "../../app/program.ts";

/** `gsv approvals …`: calls of the agent that wait for the owner. */
export const approvalsCommand: CommandEntry = {
  name: "approvals",
  summary: "calls that wait for your answer, and what you have allowed",
  examples: ["approvals list", "approvals allow c5qswrjuz3w474cd"],
  commands: [
    {
      name: "mode [mode]",
      summary: "show or set when you are asked: off, guard or ask",
      options: [
        ["--agent <id>", "of one agent"],
        ["--node <id>", "of calls on one node; the strictest mode counts"],
      ],
      examples: ["approvals mode", "approvals mode guard", "approvals mode ask --node laptop"],
      load: async () => (await import("./mode-command.ts")).approvalMode,
    },
    {
      name: "list",
      summary: "requests that wait, the oldest first",
      options: [
        ["--all", "every call that was decided about in the last 90 days, by whom, and how it ended"],
      ],
      examples: ["approvals list", "approvals list --all --json"],
      load: async () => (await import("./approvals-commands.ts")).listApprovals,
    },
    {
      name: "watch",
      summary: "show requests as they arrive and end, until Ctrl-C",
      examples: ["approvals watch", "approvals watch --json"],
      load: async () => (await import("./watch-command.ts")).watchApprovals,
    },
    {
      name: "show <id>",
      summary: "everything about a request",
      examples: ["approvals show c5qswrjuz3w474cd"],
      load: async () => (await import("./approvals-commands.ts")).showApproval,
    },
    {
      name: "allow <id> [note]",
      summary: "let the call run, or the run spend more",
      options: [
        [
          "--for <scope>",
          "also equal calls of this run, this session, or always: run, session, always; of a budget: run, day",
        ],
      ],
      examples: ["approvals allow c5qswrjuz3w474cd", "approvals allow c5qswrjuz3w474cd --for session"],
      load: async () => (await import("./approvals-commands.ts")).allowCall,
    },
    {
      name: "deny <id> [note]",
      summary: "refuse the call; the agent reads the note",
      examples: ['approvals deny c5qswrjuz3w474cd "use the test database"'],
      load: async () => (await import("./approvals-commands.ts")).denyCall,
    },
    {
      name: "rules",
      summary: "what you have allowed for longer than once, with its uses",
      examples: ["approvals rules"],
      load: async () => (await import("./approvals-commands.ts")).listRules,
    },
    {
      name: "revoke <id>",
      summary: "ask again before such a call",
      examples: ["approvals revoke c5qswrjuz3w474cd"],
      load: async () => (await import("./approvals-commands.ts")).revokeRule,
    },
  ],
};
