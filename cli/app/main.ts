import { CommanderError } from "commander";
import { commands } from "../commands/command-table.ts";
import type { Context } from "./context.ts";
import { exitCode, type Failure, failureOf, usage } from "./failure.ts";
import { version } from "./installation.ts";
import type { GlobalOptions } from "./options.ts";
import { buildProgram, type Chosen, type CommandEntry, commandPath, namesOf, wordsOf } from "./program.ts";
import { didYouMean } from "./suggestion.ts";
import { processTerminal, type Terminal, writeLines } from "./terminal.ts";

/**
 * Runs one command line (`argv` without node and script) and returns its exit code. Errors of commands are
 * caught and printed only here.
 */
export async function main(argv: readonly string[], terminal: Terminal): Promise<number> {
  let chosen: (() => Promise<Chosen>) | undefined;
  const program = buildProgram(
    commands,
    version,
    argv,
    (text) => terminal.stdout.write(text),
    (choice) => {
      chosen = choice;
    },
  );
  let context: Context | undefined;
  try {
    if (argv.length === 0) program.help();
    const [first, ...explained] = wordsOf(argv);
    const isHelp = first === "help";
    if (isHelp) checkCommand(explained);
    await program.parseAsync(isHelp ? [...explained, "--help"] : [...argv], { from: "user" });
    if (chosen === undefined) throw usage("nothing to do; see `gsv --help`");
    // Load the context late: help and wrong usage do not need it, and loading it takes longer than they do.
    context = new (await import("./context.ts")).Context(terminal, program.opts<GlobalOptions>());
    const { action, invocation } = await chosen();
    await action(context, invocation);
    return exitCode.done;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return exitCode.done;
    if (isGroup(error) && !argv.includes("--json")) return main([...argv, "--help"], terminal);
    return report(error instanceof CommanderError ? usageOf(error, argv) : failureOf(error), argv, terminal);
  } finally {
    await context?.close();
  }
}

/** Runs the process's own command line and ends the process with its exit code. */
export async function runProcess(): Promise<void> {
  // The reader of a pipe may close it early (`gsv session preview | head`). This is not an error.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(exitCode.done);
    throw error;
  });
  const code = await main(process.argv.slice(2), processTerminal());
  process.stdout.write("", () => process.exit(code));
}

function report(failure: Failure, argv: readonly string[], terminal: Terminal): number {
  // An empty message: the command has already printed the error.
  if (failure.message === "") return failure.exitCode;
  if (argv.includes("--json")) {
    const error = { code: failure.kind, message: failure.message };
    terminal.stdout.write(`${JSON.stringify({ error })}\n`);
  } else {
    writeLines(terminal.stderr, `gsv: ${failure.message}\n`);
  }
  return failure.exitCode;
}

/** Whether the command line names a group of commands but none of its commands, such as `gsv workspace`. */
function isGroup(error: unknown): boolean {
  return error instanceof CommanderError && error.code === "commander.help";
}

function usageOf(error: CommanderError, argv: readonly string[]): Failure {
  const words = commandPath(argv, commands);
  const path = ["gsv", ...words].join(" ");
  const unknown = wordsOf(argv)[words.length];
  if (error.code === "commander.excessArguments" && unknown !== undefined && namesBelow(words).length > 0)
    return noCommand(words, unknown, path);
  const reason = error.message.replace(/^error: /, "").replace(/\s*\n\s*/g, " ");
  const message = isGroup(error) ? `${path} needs one of ${namesBelow(words).join(", ")}` : reason;
  return usage(`${message}; see \`${path} --help\``);
}

/** Rejects `gsv help <unknown>`. Commander would print the program's help instead of an error. */
function checkCommand(words: readonly string[]): void {
  const known = commandPath(words, commands);
  const unknown = words[known.length];
  if (unknown === undefined) return;
  throw noCommand(known, unknown, "gsv");
}

/** @param path the command whose help lists the valid commands */
function noCommand(known: readonly string[], unknown: string, path: string): Failure {
  const meant = didYouMean(unknown, namesBelow(known));
  return usage(`there is no command ${[...known, unknown].join(" ")}${meant}; see \`${path} --help\``);
}

/** The names of the commands that may follow a command's words. */
function namesBelow(words: readonly string[]): string[] {
  const below = words.reduce<readonly CommandEntry[]>(
    (entries, word) => entries.find((entry) => namesOf(entry).includes(word))?.commands ?? [],
    commands,
  );
  return below.flatMap(namesOf);
}
