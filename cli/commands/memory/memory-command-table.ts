import type { CommandEntry } from "../../app/program.ts";

const agentOption = ["--agent <id>", "agent that owns the memories (default: the default agent)"] as const;

const memoryCommands: readonly CommandEntry[] = [
  {
    name: "list [question...]",
    summary: "the agent's memories, or those that match a question",
    options: [agentOption, ["--limit <n>", "max number of memories (default: 100)"]],
    examples: ["memory list", "memory list what does Ada drink"],
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
    name: "dream",
    summary: "promote often recalled memories into MEMORY.md now, or preview it",
    options: [
      agentOption,
      ["--dry-run", "show each memory, its score, and why it would not be promoted; change nothing"],
      ["--status", "the last sweep and its result, and the next sweep"],
    ],
    examples: ["memory dream --dry-run", "memory dream --status", "memory dream"],
    load: async () => (await import("./dream-commands.ts")).dream,
  },
];

/** `gsv memory …` */
export const memoryCommand: CommandEntry = {
  name: "memory",
  summary: "the agent's memories: list, explain, add, correct, forget, dream",
  examples: ["memory list"],
  commands: memoryCommands,
};
