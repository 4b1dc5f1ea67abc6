import type { CommandEntry } from "../../app/program.ts";

const agentOption = ["--agent <id>", "agent whose workspace it is (default: the default agent)"] as const;

const workspaceCommands: readonly CommandEntry[] = [
  {
    name: "ls [path]",
    summary: "files and folders of the agent's workspace",
    options: [agentOption],
    examples: ["workspace ls", "workspace ls memory"],
    load: async () => (await import("./workspace-commands.ts")).listFiles,
  },
  {
    name: "cat <path>",
    alias: "get",
    summary: "print a file; `get` is the same",
    options: [agentOption],
    examples: ["workspace cat SOUL.md", "workspace get SOUL.md > SOUL.md"],
    load: async () => (await import("./workspace-commands.ts")).printFile,
  },
  {
    name: "put <path> [file]",
    summary: "write a file from a local file, or from standard input",
    options: [agentOption],
    examples: ["workspace put USER.md ./me.md", "echo hello | gsv workspace put notes/hello.md"],
    load: async () => (await import("./workspace-commands.ts")).putFile,
  },
  {
    name: "rm <path>",
    summary: "delete a file",
    options: [agentOption],
    examples: ["workspace rm notes/hello.md"],
    load: async () => (await import("./workspace-commands.ts")).removeFile,
  },
  {
    name: "edit <path>",
    summary: "edit a file in $EDITOR and write it back when it has changed",
    options: [agentOption],
    examples: ["workspace edit SOUL.md"],
    load: async () => (await import("./workspace-commands.ts")).editFile,
  },
];

/** `gsv workspace …` */
export const workspaceCommand: CommandEntry = {
  name: "workspace",
  summary: "the agent's files",
  examples: ["workspace ls"],
  commands: workspaceCommands,
};
