import type { CommandEntry } from "../../app/program.ts";

/** `gsv cp` */
export const copyCommand: CommandEntry = {
  name: "cp <source> <destination>",
  summary: "copy a file between this machine, nodes (laptop:/path) and the agent's workspace (gsv:path)",
  options: [["--agent <id>", "agent whose workspace gsv: names (default: the default agent)"]],
  examples: [
    "cp report.pdf laptop:~/Documents/",
    "cp laptop:/var/log/app.log.gz .",
    "cp laptop:film.mkv pi:/media/film.mkv",
    "cp gsv:notes/todo.md todo.md",
  ],
  load: async () => (await import("./copy-command.ts")).copyFile,
};
