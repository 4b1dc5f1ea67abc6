import type { Action, CommandEntry } from "../../app/program.ts";
import type { ServiceCommand, ServiceKind } from "./service-commands.ts";

/** How the help names a program that can run as a service. */
export interface ServiceHelp {
  /** The words of its command, without `gsv`. */
  words: string;
  /** What it is in sentences: "the node". */
  title: string;
  options: NonNullable<CommandEntry["options"]>;
  /** Examples of `install`. */
  installed: readonly string[];
  /** What `status` shows about this program alone. */
  shows?: string;
}

/** The option with which a supervisor starts such a program. */
export const unattendedOption = [
  "--unattended <file>",
  "run as a service: log to this file, and wait ten minutes before exiting after a refusal",
] as const;

/** The commands that manage a program as a service: `install`, `uninstall`, … */
export function serviceEntries(
  { words, title, options, installed, shows = "" }: ServiceHelp,
  load: () => Promise<ServiceKind>,
): CommandEntry[] {
  const action = (name: ServiceCommand) => async (): Promise<Action> => {
    const [{ serviceCommands }, kind] = await Promise.all([import("./service-commands.ts"), load()]);
    return serviceCommands(kind, process.platform)[name];
  };
  return [
    {
      name: "install",
      summary: `run ${title} as a service (systemd, launchd), now and after each boot`,
      options,
      examples: installed,
      load: action("install"),
    },
    {
      name: "uninstall",
      summary: "stop and remove the service and its token",
      examples: [`${words} uninstall`],
      load: action("uninstall"),
    },
    {
      name: "start",
      summary: "start the stopped service",
      examples: [`${words} start`],
      load: action("start"),
    },
    {
      name: "stop",
      summary: `stop the service until \`gsv ${words} start\` or the next boot`,
      examples: [`${words} stop`],
      load: action("stop"),
    },
    {
      name: "status",
      summary: `whether the service is installed, running and connected; its last error${shows}`,
      examples: [`${words} status`, `${words} status --json`],
      load: action("status"),
    },
    {
      name: "logs",
      summary: "the newest lines of the service's log on this machine",
      options: [
        ["-f, --follow", "print new lines until Ctrl-C"],
        ["--lines <n>", "number of lines (default 100)"],
      ],
      examples: [`${words} logs -f`, `${words} logs --lines 20`],
      load: action("logs"),
    },
  ];
}
