import type { CommandEntry } from "../../app/program.ts";

const agentOption = ["--agent <id>", "agent that owns the workspace (default: the default agent)"] as const;

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
  {
    name: "log [path]",
    summary: "commits of the workspace's history, newest first; with a path, those that changed it",
    options: [agentOption, ["--limit <n>", "number of commits (default 20, max 100)"]],
    examples: ["workspace log", "workspace log MEMORY.md"],
    load: async () => (await import("./workspace-history-commands.ts")).logCommits,
  },
  {
    name: "diff [from] [to]",
    summary: "the changes since a commit (default: the newest), or between two",
    options: [agentOption, ["--path <path>", "only this file"]],
    examples: ["workspace diff", "workspace diff HEAD~3", "workspace diff 3f2a1bc HEAD --path MEMORY.md"],
    load: async () => (await import("./workspace-history-commands.ts")).diffCommits,
  },
  {
    name: "show [commit] [path]",
    summary: "a commit (default: the newest) with its changes, or a file as of that commit",
    options: [agentOption],
    examples: ["workspace show", "workspace show HEAD~1 MEMORY.md"],
    load: async () => (await import("./workspace-history-commands.ts")).showCommit,
  },
  {
    name: "restore <commit> [path]",
    summary: "restore a file as of a commit; the current state is committed first",
    options: [agentOption, ["--all", "every file of the workspace"], ["--yes", "do not ask"]],
    examples: ["workspace restore HEAD~1 MEMORY.md", "workspace restore 3f2a1bc --all"],
    load: async () => (await import("./workspace-history-commands.ts")).restoreCommit,
  },
  {
    name: "checkpoint [note...]",
    summary: "commit the current state of the workspace",
    options: [agentOption],
    examples: ["workspace checkpoint before the clean-up"],
    load: async () => (await import("./workspace-history-commands.ts")).checkpointWorkspace,
  },
  {
    name: "clone <folder>",
    summary: "copy the history into a new folder, as a git repository",
    options: [agentOption],
    examples: ["workspace clone ./memory"],
    load: async () => (await import("./workspace-history-commands.ts")).cloneWorkspace,
  },
];

/** `gsv workspace …` */
export const workspaceCommand: CommandEntry = {
  name: "workspace",
  summary: "the agent's files, and their history",
  examples: ["workspace ls"],
  commands: workspaceCommands,
};
