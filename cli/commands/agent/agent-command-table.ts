import type { CommandEntry } from "../../app/program.ts";

/** `gsv agent …` */
export const agentCommand: CommandEntry = {
  name: "agent",
  summary: "manage the agents",
  examples: ["agent list"],
  commands: [
    {
      name: "list",
      summary: "the agents, their models, and the messages routed to them",
      examples: ["agent list"],
      load: async () => (await import("./agent-commands.ts")).listAgents,
    },
    {
      name: "add <agentId>",
      summary: "add an agent with its own files and conversations",
      options: [
        ["--model <model>", "its model, provider/id (default: the gateway's)"],
        ["--prompt <text>", "its system prompt (default: the gateway's)"],
        ["--default", "make it the agent of messages and session keys that name none"],
      ],
      examples: [
        "agent add research --model anthropic/claude-opus-4-8",
        "client --session agent:research:main",
      ],
      load: async () => (await import("./agent-commands.ts")).addAgent,
    },
    {
      name: "remove <agentId>",
      summary: "remove an agent's settings and bindings; its files and conversations remain",
      options: [["--yes", "do not ask"]],
      examples: ["agent remove research"],
      load: async () => (await import("./agent-commands.ts")).removeAgent,
    },
    {
      name: "init [agentId]",
      summary: "write the initial files of an agent (soul, identity, memory, first-run ceremony, …)",
      examples: ["agent init", "agent init research"],
      load: async () => (await import("./agent-commands.ts")).initAgent,
    },
  ],
};
