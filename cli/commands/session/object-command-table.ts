import type { CommandEntry } from "../../app/program.ts";

const where = [
  ["--session <key>", "session it belongs to (default: the config file's, else agent:main:main)"],
  ["--conversation <id>", "an earlier conversation of the session (`session history` lists them)"],
] as const;

/** Options of export and import, for the commands of `gsv object` and `gsv session`. */
export const exportOptions = [
  ["--agent <id>", "agent that owns the conversation, instead of a session"],
  ["--format <format>", "pi (default), turns, openai, anthropic or nexo"],
  ["--redact", "replace keys, tokens and home folders with [REDACTED:…]"],
] as const;
export const importOptions = [
  ["--format <format>", "pi or turns (default: detected from the first line)"],
] as const;

/** `gsv object …` */
export const objectCommand: CommandEntry = {
  name: "object",
  summary:
    "read, export and import the objects of a conversation: prompts, tool calls and files, with their versions",
  examples: ["object list", "object get chat:0b9e2c3a-6f1d-4c55-9f2e-7a3d5f0c1e11"],
  commands: [
    {
      name: "list",
      summary: "the objects of a session's conversation",
      options: [
        ...where,
        ["--type <type>", "only this type: system_prompt, toolcall, chat, session or file"],
        ["--limit <n>", "maximum number (default 200)"],
        ["--offset <n>", "skip the first n"],
      ],
      examples: ["object list", "object list --type file", "object list --session agent:main:work --json"],
      load: async () => (await import("./object-commands.ts")).listObjects,
    },
    {
      name: "get <id>",
      summary: "one version of an object, by default the newest",
      options: [
        ["--version-no <n>", "by its number"],
        ["--at <time>", "as of this time: 2026-03-01T09:00:00Z, or milliseconds"],
        ["--message <n>", "as of message n; for a prompt, the version that produced message n"],
        ["--hash <sha256>", "by the hash of its content or of the whole object"],
        ["--content", "print only the content"],
        ...where,
      ],
      examples: [
        "object get toolu_01XFDUDYJgAACzvnptvVer6R",
        "object get system_prompt:main:0b9e2c3a-6f1d-4c55-9f2e-7a3d5f0c1e11 --message 4 --content",
        "object get file:gsv:MEMORY.md --at 2026-03-01T09:00:00Z",
      ],
      load: async () => (await import("./object-commands.ts")).getObject,
    },
    {
      name: "history <id>",
      summary: "the versions of an object, oldest first, with their hashes",
      options: [
        ["--limit <n>", "only the newest n, at most 100 (default 50)"],
        ["--before <n>", "only versions before this number"],
        ...where,
      ],
      examples: ["object history file:gsv:MEMORY.md"],
      load: async () => (await import("./object-commands.ts")).showHistory,
    },
    {
      name: "diff <id> [otherId]",
      summary: "the differences between two versions of an object, or between two objects",
      options: [
        ["--from <n>", "version of the first (default: 1, or the newest when two objects are named)"],
        ["--to <n>", "version of the second (default: the newest)"],
        ...where,
        ["--other-session <key>", "session of the second object, if it is a different one"],
      ],
      examples: [
        "object diff file:gsv:MEMORY.md --from 1 --to 3",
        "object diff system_prompt:main:0b9e… system_prompt:main:77aa… --other-session agent:main:work",
      ],
      load: async () => (await import("./object-commands.ts")).diffObjects,
    },
    {
      name: "export",
      summary: "a conversation as lines of JSON for other programs: pi, turns, openai, anthropic or nexo",
      options: [...where, ...exportOptions],
      examples: [
        "object export --format turns > conversation.jsonl",
        "object export --session agent:main:holidays --format openai --redact",
        "object export --agent work --conversation 0b9e2c3a-6f1d-4c55-9f2e-7a3d5f0c1e11",
      ],
      load: async () => (await import("./object-commands.ts")).exportConversation,
    },
    {
      name: "import <file>",
      summary: "start a session with an exported conversation (pi or turns); - reads standard input",
      options: [["--session <key>", "session to start (default: a new one)"], ...importOptions],
      examples: [
        "object import conversation.jsonl --session agent:main:holidays",
        "gsv object export --format turns | gsv object import - --session copy",
      ],
      load: async () => (await import("./object-commands.ts")).importConversation,
    },
  ],
};
