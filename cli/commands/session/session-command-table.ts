import type { CommandEntry } from "../../app/program.ts";
import { exportOptions, importOptions } from "./object-command-table.ts";

const sessionCommands: readonly CommandEntry[] = [
  {
    name: "list",
    summary: "sessions, most recently used first",
    options: [["--limit <n>", "maximum number of sessions (default 100)"]],
    examples: ["session list --limit 20"],
    load: async () => (await import("./session-commands.ts")).listSessions,
  },
  {
    name: "get [sessionKey]",
    summary: "one session: ids, counts, settings",
    examples: ["session get agent:main:main"],
    load: async () => (await import("./session-commands.ts")).getSession,
  },
  {
    name: "stats [sessionKey]",
    summary: "tokens, messages, and whether a run is active",
    examples: ["session stats"],
    load: async () => (await import("./session-commands.ts")).showStats,
  },
  {
    name: "cost [sessionKey]",
    summary: "tokens and money of the last turn, the conversation, today and this month",
    examples: ["session cost", "session cost agent:main:main --json"],
    load: async () => (await import("./session-commands.ts")).showCost,
  },
  {
    name: "context [sessionKey]",
    summary: "how full the context window is, and which results and files the model sees",
    examples: ["session context", "session context agent:main:main --json"],
    load: async () => (await import("./context-commands.ts")).showContext,
  },
  {
    name: "activate <id> [sessionKey]",
    summary: "show the model a result or a file again, for three turns",
    examples: ["session activate toolu_01A09q90qw90lq917835lq9", "session activate file:gsv:notes/plan.md"],
    load: async () => (await import("./context-commands.ts")).activateObject,
  },
  {
    name: "deactivate <id> [sessionKey]",
    summary: "hide a result or a file from the model; it can be activated again",
    examples: ["session deactivate toolu_01A09q90qw90lq917835lq9"],
    load: async () => (await import("./context-commands.ts")).deactivateObject,
  },
  {
    name: "pin <id> [sessionKey]",
    summary: "show the model a result, or the current version of a file, until it is unpinned",
    options: [["--remove", "unpin it"]],
    examples: ["session pin file:gsv:notes/plan.md", "session pin file:gsv:notes/plan.md --remove"],
    load: async () => (await import("./context-commands.ts")).pinObject,
  },
  {
    name: "preview [sessionKey]",
    summary: "the messages of a session",
    options: [["--limit <n>", "only the newest n"]],
    examples: ["session preview --limit 10"],
    load: async () => (await import("./session-commands.ts")).previewSession,
  },
  {
    name: "fork [sessionKey]",
    summary: "copy a conversation, or what precedes one of your messages, into a new session",
    options: [["--before <n>", "number (seq) of that message in `gsv session preview --json`"]],
    examples: ["session fork", "session fork agent:main:main --before 12 --json"],
    load: async () => (await import("./session-commands.ts")).forkSession,
  },
  {
    name: "set <setting> <value> [sessionKey]",
    summary:
      "change model, thinking, prompt, max-tokens, label or reset; `default` clears it; the key may come first",
    examples: [
      "session set model anthropic/claude-sonnet-5",
      "session set thinking high",
      "session set reset daily:4",
      "session set reset idle:60",
      'session set label "holiday plans" agent:main:main',
      "session set agent:main:main resetPolicy.atHour 6",
    ],
    load: async () => (await import("./session-set.ts")).setSession,
  },
  {
    name: "compact [sessionKey]",
    summary: "replace all but the newest messages with a summary; the replaced messages are archived",
    options: [["--keep <n>", "number of newest messages to keep (default 20)"]],
    examples: ["session compact", "session compact agent:main:main --keep 5"],
    load: async () => (await import("./session-commands.ts")).compactSession,
  },
  {
    name: "reset [sessionKey]",
    summary: "start over: clears the messages and gives the session a new id",
    options: [
      ["--private", "the next conversation is not archived, searched or read for memories"],
      ["--yes", "do not ask"],
    ],
    examples: ["session reset agent:main:main --yes"],
    load: async () => (await import("./session-commands.ts")).resetSession,
  },
  {
    name: "delete <sessionKey> [sessionId]",
    summary:
      "delete a session with all its conversations, or one earlier conversation; memories made of them stay",
    options: [["--yes", "do not ask"]],
    examples: [
      "session delete agent:main:holidays",
      "session delete agent:main:main 0b9e2c3a-6f1d-4c55-9f2e-7a3d5f0c1e11",
    ],
    load: async () => (await import("./session-commands.ts")).deleteSession,
  },
  {
    name: "history [sessionKey]",
    summary: "the ids of a session's conversations, oldest first; `transcript` prints one of them",
    examples: ["session history", "session history agent:main:main --json"],
    load: async () => (await import("./history-commands.ts")).showHistory,
  },
  {
    name: "transcript <sessionId>",
    summary: "all messages of one conversation, archived or live; with --json one message per line",
    options: [
      ["--session <key>", "session it belongs to (default: the config file's, else agent:main:main)"],
      ["--agent <id>", "agent that owns it, instead of a session"],
    ],
    examples: [
      "session transcript 0b9e2c3a-6f1d-4c55-9f2e-7a3d5f0c1e11",
      "session transcript 0b9e2c3a-6f1d-4c55-9f2e-7a3d5f0c1e11 --json > conversation.jsonl",
      "session transcript 4d1f… --agent work",
    ],
    load: async () => (await import("./history-commands.ts")).printTranscript,
  },
  {
    name: "export [sessionKey]",
    summary: "the same as `gsv object export`",
    options: [["--id <sessionId>", "an earlier conversation of the session"], ...exportOptions],
    examples: ["session export agent:main:holidays --format openai"],
    load: async () => (await import("./object-commands.ts")).exportConversation,
  },
  {
    name: "import <file> [sessionKey]",
    summary: "the same as `gsv object import`",
    options: importOptions,
    examples: ["session import conversation.jsonl agent:main:holidays"],
    load: async () => (await import("./object-commands.ts")).importConversation,
  },
];

/** `gsv client` */
export const clientCommand: CommandEntry = {
  name: "client [message]",
  summary: "chat interactively, or send one message; standard input is appended, or replaces the message (-)",
  options: [
    ["--session <key>", "session of the chat (default: the config file's, else agent:main:main)"],
    [
      "--image <file>",
      "image to send with the message: JPEG, PNG, GIF or WebP up to 25 MB; may be given several times",
      "repeatable",
    ],
    ["--lines", "each line of standard input is a message, sent after the previous answer"],
    ["--plain", "show answers unchanged, without Markdown styles"],
  ],
  examples: [
    "client",
    'client "which files are in this folder?"',
    'client --image photo.jpg "what is this?"',
    'npm test 2>&1 | gsv client "why does it fail?"',
    "gsv client < letter.txt",
    "printf 'hello\\nand again\\n' | gsv client --lines",
  ],
  load: async () => (await import("./client-command.ts")).client,
};

/** `gsv session …` */
export const sessionCommand: CommandEntry = {
  name: "session",
  summary: "list, inspect, change and reset sessions",
  examples: ["session list"],
  commands: sessionCommands,
};

export const searchCommand: CommandEntry = {
  name: "search <words...>",
  summary: "search messages, including archived conversations, by words or a question",
  options: [
    ["--limit <n>", "maximum number of messages (default 10)"],
    ["--max-chars <n>", "characters shown of each message, 20 to 4000 (default 200)"],
    ["--session <sessionKey>", "only this session, including its earlier conversations"],
    ["--agent <agentId>", "the conversations of this agent (default: the default agent)"],
  ],
  examples: ['search "when does the dentist expect me?"', "search wifi password --limit 3"],
  load: async () => (await import("./search-command.ts")).searchSessions,
};
