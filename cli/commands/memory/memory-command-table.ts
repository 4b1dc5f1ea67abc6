import type { CommandEntry } from "../../app/program.ts";

const agentOption = ["--agent <id>", "agent whose memories they are (default: the default agent)"] as const;

const memoryCommands: readonly CommandEntry[] = [
  {
    name: "list [question...]",
    summary: "what the agent remembers, or what of it fits a question",
    options: [agentOption, ["--limit <n>", "most memories (default: 100)"]],
    examples: ["memory list", "memory list what does Ada drink"],
    load: async () => (await import("./memory-commands.ts")).listMemories,
  },
  {
    name: "why <id>",
    summary: "where a memory came from: the session, the time, and what was said",
    options: [agentOption],
    examples: ["memory why 3f2a1bc09d4e5f60"],
    load: async () => (await import("./memory-commands.ts")).explainMemory,
  },
  {
    name: "add <text...>",
    summary: "have the agent remember something",
    options: [agentOption],
    examples: ["memory add Ada likes tea"],
    load: async () => (await import("./memory-commands.ts")).addMemory,
  },
  {
    name: "correct <id> <text...>",
    summary: "strike a memory out, and put another in its place",
    options: [agentOption],
    examples: ["memory correct 3f2a1bc09d4e5f60 Ada likes coffee"],
    load: async () => (await import("./memory-commands.ts")).correctMemory,
  },
  {
    name: "forget <id>",
    summary: "take a memory out of every file, so that it does not come back",
    options: [agentOption, ["--everywhere", "out of the history of the workspace too"]],
    examples: ["memory forget 3f2a1bc09d4e5f60", "memory forget 3f2a1bc09d4e5f60 --everywhere"],
    load: async () => (await import("./memory-commands.ts")).forgetMemory,
  },
  {
    name: "dream",
    summary: "promote what was recalled often into MEMORY.md now, or show what would be",
    options: [
      agentOption,
      ["--dry-run", "show each memory, its score, and why it would stay; change nothing"],
      ["--status", "when the agent dreamed last, what came of it, and when it dreams next"],
    ],
    examples: ["memory dream --dry-run", "memory dream --status", "memory dream"],
    load: async () => (await import("./dream-commands.ts")).dream,
  },
];

/** `gsv memory …` */
export const memoryCommand: CommandEntry = {
  name: "memory",
  summary: "what the agent remembers: look, ask why, correct, forget, dream",
  examples: ["memory list"],
  commands: memoryCommands,
};
