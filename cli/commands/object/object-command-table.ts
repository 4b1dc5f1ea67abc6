import type { CommandEntry } from "../../app/program.ts";

const where = [
  ["--session <key>", "session it belongs to (default: the config file's, else agent:main:main)"],
  ["--conversation <id>", "an earlier conversation of the session (`session history` lists them)"],
] as const;

/** `gsv object …` */
export const objectCommand: CommandEntry = {
  name: "object",
  summary: "look at what a conversation is made of: prompts, tool calls, files, each with its versions",
  examples: ["object list", "object get chat:0b9e2c3a-6f1d-4c55-9f2e-7a3d5f0c1e11"],
  commands: [
    {
      name: "list",
      summary: "the objects of a session's conversation",
      options: [
        ...where,
        ["--type <type>", "only these: system_prompt, toolcall, chat, session or file"],
        ["--limit <n>", "maximum number (default 200)"],
        ["--offset <n>", "leave out the first n"],
      ],
      examples: ["object list", "object list --type file", "object list --session agent:main:work --json"],
      load: async () => (await import("./object-commands.ts")).listObjects,
    },
    {
      name: "get <id>",
      summary: "one version of an object; without an option the newest",
      options: [
        ["--version-no <n>", "by its number"],
        ["--at <time>", "as of this time: 2026-03-01T09:00:00Z, or milliseconds"],
        ["--message <n>", "as of message n; of a prompt, the one that message n was made from"],
        ["--hash <sha256>", "by the hash of its content or of the whole object"],
        ["--content", "print the content alone"],
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
      summary: "the lines that differ between two versions of an object, or between two objects",
      options: [
        ["--from <n>", "version of the first (default: 1, or the newest when two objects are named)"],
        ["--to <n>", "version of the second (default: the newest)"],
        ...where,
        ["--other-session <key>", "session of the second object, when it is another one"],
      ],
      examples: [
        "object diff file:gsv:MEMORY.md --from 1 --to 3",
        "object diff system_prompt:main:0b9e… system_prompt:main:77aa… --other-session agent:main:work",
      ],
      load: async () => (await import("./object-commands.ts")).diffObjects,
    },
  ],
};
