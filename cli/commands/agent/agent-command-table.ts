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

/** `gsv heartbeat …` */
export const heartbeatCommand: CommandEntry = {
  name: "heartbeat",
  summary: "wake an agent periodically to do what its HEARTBEAT.md says",
  examples: ["heartbeat status", "heartbeat start"],
  commands: [
    {
      name: "status",
      summary: "the heartbeat of every agent: its settings, the next beat, the last answer",
      examples: ["heartbeat status", "heartbeat status --json"],
      load: async () => (await import("./heartbeat-commands.ts")).showHeartbeats,
    },
    {
      name: "start [agentId]",
      summary: "turn the heartbeat on, for one agent or all; each beat is a model call",
      examples: ["heartbeat start", "heartbeat start work"],
      load: async () => (await import("./heartbeat-commands.ts")).startHeartbeat,
    },
    {
      name: "stop [agentId]",
      summary: "turn the heartbeat off, for one agent or all",
      examples: ["heartbeat stop", "heartbeat stop work"],
      load: async () => (await import("./heartbeat-commands.ts")).stopHeartbeat,
    },
    {
      name: "trigger [agentId]",
      summary: "run a heartbeat now, at any hour (default: the default agent)",
      examples: ["heartbeat trigger", "heartbeat trigger work"],
      load: async () => (await import("./heartbeat-commands.ts")).triggerHeartbeat,
    },
  ],
};

const agentOption = ["--agent <id>", "agent that owns the memories (default: the default agent)"] as const;

const memoryCommands: readonly CommandEntry[] = [
  {
    name: "list [question...]",
    summary: "the agent's memories, or those that match a question",
    options: [
      agentOption,
      ["--limit <n>", "max number of memories (default: 100)"],
      ["--forgotten", "ids of forgotten and corrected memories, and when an extraction last repeated them"],
    ],
    examples: ["memory list", "memory list what does Ada drink", "memory list --forgotten"],
    load: async () => (await import("./memory-commands.ts")).listMemories,
  },
  {
    name: "why <id>",
    summary: "the origin of a memory: session, time and messages",
    options: [agentOption],
    examples: ["memory why 3f2a1bc09d4e5f60"],
    load: async () => (await import("./memory-commands.ts")).explainMemory,
  },
  {
    name: "add <text...>",
    summary: "add a memory",
    options: [agentOption],
    examples: ["memory add Ada likes tea"],
    load: async () => (await import("./memory-commands.ts")).addMemory,
  },
  {
    name: "correct <id> <text...>",
    summary: "replace a memory; the old text is struck out",
    options: [agentOption],
    examples: ["memory correct 3f2a1bc09d4e5f60 Ada likes coffee"],
    load: async () => (await import("./memory-commands.ts")).correctMemory,
  },
  {
    name: "forget <id>",
    summary: "remove a memory from all files, permanently",
    options: [agentOption, ["--everywhere", "also from the history of the workspace"]],
    examples: ["memory forget 3f2a1bc09d4e5f60", "memory forget 3f2a1bc09d4e5f60 --everywhere"],
    load: async () => (await import("./memory-commands.ts")).forgetMemory,
  },
  {
    name: "allow <id>",
    summary: "bring a replaced memory back, or let a forgotten one return",
    options: [agentOption],
    examples: ["memory allow 3f2a1bc09d4e5f60"],
    load: async () => (await import("./memory-commands.ts")).allowMemory,
  },
  {
    name: "dream",
    summary: "promote often recalled memories into MEMORY.md now, or preview it",
    options: [
      agentOption,
      ["--dry-run", "show each memory, its score, and why it would not be promoted; change nothing"],
      ["--status", "the last sweep and its result, and the next sweep"],
    ],
    examples: ["memory dream --dry-run", "memory dream --status", "memory dream"],
    load: async () => (await import("./memory-commands.ts")).dream,
  },
];

/** `gsv memory …` */
export const memoryCommand: CommandEntry = {
  name: "memory",
  summary: "the agent's memories: list, explain, add, correct, forget, allow, dream",
  examples: ["memory list"],
  commands: memoryCommands,
};
