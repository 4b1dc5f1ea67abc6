import { type CommandEntry, globalOptions, namesOf } from "../../app/program.ts";

/** The words that may follow one command. */
export interface CommandWords {
  /** The command's words without `gsv`: `session list`; empty for `gsv` itself. */
  path: string;
  /** The commands of a group, including aliases, with their summaries. */
  commands: readonly { name: string; summary: string }[];
  options: readonly OptionWords[];
}

/** An option as it is typed. */
export interface OptionWords {
  /** `-f` and `--follow`. */
  names: readonly string[];
  description: string;
  /** The option's value: none, a file or folder, or another one. */
  value: "none" | "file" | "other";
}

/** Every command of `gsv` with the words that may follow it, `gsv` itself first. */
export function completionWords(entries: readonly CommandEntry[]): CommandWords[] {
  const general = globalOptions.map(([flags, description]) => optionWords(flags, description));
  const help: OptionWords = { names: ["-h", "--help"], description: "explain the command", value: "none" };
  const words = (path: string, entry: Pick<CommandEntry, "commands" | "options">): CommandWords[] => {
    const below = entry.commands ?? [];
    const options = (entry.options ?? []).map(([flags, description]) => optionWords(flags, description));
    const commands = below.flatMap((child) =>
      namesOf(child).map((name) => ({ name, summary: child.summary })),
    );
    return [
      { path, commands, options: [...options, ...general, help] },
      ...below.flatMap((child) => namesOf(child).flatMap((name) => words(`${path} ${name}`.trim(), child))),
    ];
  };
  const version: OptionWords = { names: ["--version"], description: "print the version", value: "none" };
  const [top, ...others] = words("", { commands: entries });
  return top === undefined ? others : [{ ...top, options: [...top.options, version] }, ...others];
}

function optionWords(flags: string, description: string): OptionWords {
  const names = flags.split(/[ ,]+/).filter((part) => part.startsWith("-"));
  const [, value] = /[<[](.+)[>\]]/.exec(flags) ?? [];
  const kind = value === undefined ? "none" : /^(file|folder)$/.test(value) ? "file" : "other";
  return { names, description, value: kind };
}
