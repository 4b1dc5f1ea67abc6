import { Command, Option } from "commander";
import type { Context } from "./context.ts";
import type { Invocation } from "./options.ts";

export type Action = (context: Context, invocation: Invocation) => Promise<void>;

/** One command: its name and arguments, its help text, and a function that loads its action on use. */
export interface CommandEntry {
  /** Name and arguments in commander's syntax: `get <sessionKey>`, `call <tool> [args...]`. */
  name: string;
  /** Another name of the command. */
  alias?: string;
  summary: string;
  /** Flags, description, and `repeatable` when the option may be given several times. */
  options?: readonly (readonly [flags: string, description: string, repeatable?: "repeatable"])[];
  /** Example command lines. The leading `gsv` is omitted, except in lines that pipe into `gsv`. */
  examples: readonly string[];
  load?: () => Promise<Action>;
  commands?: readonly CommandEntry[];
}

/** The options of every command: flags and description. */
export const globalOptions = [
  ["--json", "results and errors as JSON on standard output"],
  ["-u, --url <url>", "gateway to use (else GSV_URL, else the config file)"],
  ["-t, --token <token>", "its access token (else GSV_TOKEN, else the config file)"],
  [
    "--data <folder>",
    "use the local gateway kept in this folder (else the nearest .gsv, here or above, when nothing is configured)",
  ],
  ["--config <file>", "config file instead of ~/.config/gsv/config.toml"],
] as const;

/** The command that the user chose, with its parsed input. */
export interface Chosen {
  action: Action;
  invocation: Invocation;
}

/**
 * Builds the command tree. Parsing calls `choose`, or throws a CommanderError for help, version and wrong
 * usage.
 * @param argv the command line to parse. A group of commands that it does not name is built without its commands,
 *   because building all of them takes longer than parsing.
 */
export function buildProgram(
  entries: readonly CommandEntry[],
  version: string,
  argv: readonly string[],
  write: (text: string) => void,
  choose: (chosen: () => Promise<Chosen>) => void,
): Command {
  const program = new Command("gsv")
    .description("A personal AI agent on AWS: chat with it, lend it this machine, manage it.")
    .version(version)
    .helpCommand("help [command...]", "explain a command")
    .exitOverride()
    .configureOutput({ writeOut: write, writeErr: () => undefined, outputError: () => undefined })
    .addHelpText(
      "after",
      "\nStart here:\n  gsv dev           try it on this machine\n  gsv init          use a gateway you have\n  gsv deploy        put your own on AWS",
    );
  for (const [flags, description] of globalOptions) program.addOption(new Option(flags, description));
  for (const entry of entries) program.addCommand(commandOf(entry, program, argv, choose));
  return program;
}

function commandOf(
  entry: CommandEntry,
  program: Command,
  argv: readonly string[],
  choose: (chosen: () => Promise<Chosen>) => void,
): Command {
  const [name = "", ...parameters] = entry.name.split(" ");
  const command = new Command(name).description(entry.summary).copyInheritedSettings(program);
  if (entry.alias) command.alias(entry.alias);
  for (const parameter of parameters) command.argument(parameter);
  for (const [flags, description, repeatable] of entry.options ?? []) {
    const option = new Option(flags, description);
    if (repeatable) option.argParser((value, before: string[] = []) => [...before, value]);
    command.addOption(option);
  }
  const lines = entry.examples.map((example) => (example.includes("| gsv ") ? example : `gsv ${example}`));
  const examples = lines.map((line) => `  ${line}`).join("\n");
  command.addHelpText("after", `\nExample:\n${examples}\n\nOptions of every command: gsv --help`);
  const isNamed = namesOf(entry).some((name) => argv.includes(name));
  for (const child of (isNamed && entry.commands) || [])
    command.addCommand(commandOf(child, program, argv, choose));
  const { load } = entry;
  if (load)
    command.action((..._received: unknown[]) => {
      const args = command.processedArgs.flat().filter((arg): arg is string => typeof arg === "string");
      // A group that accepts arguments was called without any: main prints its help, as for other groups.
      if (entry.commands && parameters.length > 0 && args.length === 0) command.help({ error: true });
      choose(async () => ({
        action: await load(),
        invocation: { args, options: command.optsWithGlobals() },
      }));
    });
  return command;
}

/** The global options that have a value, in both spellings: `-u`, `--url`, … */
const optionsWithValue = new Set(
  globalOptions.flatMap(([flags]) => (flags.includes("<") ? (flags.match(/-[\w-]+/g) ?? []) : [])),
);

/** The words of a command line without the options and without the values of global options. */
export function wordsOf(argv: readonly string[]): string[] {
  return argv.filter((arg, at) => !arg.startsWith("-") && !optionsWithValue.has(argv[at - 1] ?? ""));
}

/** The leading words of a command line that name a command: `session set` in `-u wss://… session set x y`. */
export function commandPath(argv: readonly string[], entries: readonly CommandEntry[]): string[] {
  const [word, ...rest] = wordsOf(argv);
  const entry = entries.find((entry) => word !== undefined && namesOf(entry).includes(word));
  return word === undefined || entry === undefined ? [] : [word, ...commandPath(rest, entry.commands ?? [])];
}

/** The name of a command without its arguments, and its alias. */
export function namesOf({ name, alias }: CommandEntry): string[] {
  return [name.split(" ")[0] ?? "", ...(alias === undefined ? [] : [alias])];
}
