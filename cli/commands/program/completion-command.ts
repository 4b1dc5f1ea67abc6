import { type Action, type CommandEntry, globalOptions, namesOf } from "../../app/program.ts";

/** Completion scripts for shells. All names in them consist of a-z, 0-9 and -. */

/**
 * For bash. The words before the cursor select a command. Completes its options for a word that begins with `-`, else the
 * commands of its group, else files.
 */
function bashScript(words: readonly CommandWords[]): string {
  const namesOf = (value: string) => [
    ...new Set(
      words.flatMap(({ options }) =>
        options.flatMap((option) => (option.value === value ? option.names : [])),
      ),
    ),
  ];
  const paths = words.filter(({ path }) => path !== "").map(({ path }) => `"${path}"`);
  const cases = words.map(({ path, commands, options }) => {
    const names = commands.map(({ name }) => name).join(" ");
    const flags = options.flatMap(({ names }) => names).join(" ");
    return `    "${path}") commands="${names}"; options="${flags}" ;;`;
  });
  return `# bash completion of gsv: eval "$(gsv completion bash)"
_gsv() {
  local current="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}"
  local path="" word skip="" commands="" options="" index
  for ((index = 1; index < COMP_CWORD; index++)); do
    word="\${COMP_WORDS[index]}"
    if [[ -n "$skip" ]]; then skip=""; continue; fi
    case "$word" in
      ${[...namesOf("file"), ...namesOf("other")].join("|")}) skip=1; continue ;;
      -*) continue ;;
    esac
    case "\${path:+$path }$word" in
      ${paths.join("|")}) path="\${path:+$path }$word" ;;
    esac
  done
  COMPREPLY=()
  if [[ -n "$skip" ]]; then
    case "$before" in
      ${namesOf("file").join("|")}) COMPREPLY=($(compgen -f -- "$current")) ;;
    esac
    return
  fi
  case "$path" in
${cases.join("\n")}
  esac
  if [[ "$current" == -* ]]; then COMPREPLY=($(compgen -W "$options" -- "$current"))
  elif [[ -n "$commands" ]]; then COMPREPLY=($(compgen -W "$commands" -- "$current"))
  else COMPREPLY=($(compgen -f -- "$current"))
  fi
}
complete -o filenames -F _gsv gsv
`;
}

/** For zsh, which runs bash completions with its function `bashcompinit`. */
function zshScript(words: readonly CommandWords[]): string {
  const [, ...lines] = bashScript(words).split("\n");
  return `# zsh completion of gsv: eval "$(gsv completion zsh)"
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
autoload -Uz bashcompinit && bashcompinit
${lines.join("\n")}`;
}

/** For fish: a line for each command and option, with its description. */
function fishScript(words: readonly CommandWords[]): string {
  const lines = words.flatMap(({ path, commands, options }) => {
    const steps = path.split(" ").filter((word) => word !== "");
    const seen = steps.map((word) => `__fish_seen_subcommand_from ${word}`);
    const names = commands.map(({ name }) => name);
    const none = names.length > 0 ? [`not __fish_seen_subcommand_from ${names.join(" ")}`] : [];
    const when = (conditions: readonly string[]) =>
      conditions.length > 0 ? ` -n "${conditions.join("; and ")}"` : "";
    return [
      ...commands.map(
        ({ name, summary }) =>
          `complete -c gsv -f${when([...seen, ...none])} -a ${name} -d ${quoted(summary)}`,
      ),
      ...options.map(({ names: flags, description, value }) => {
        const given = flags.map((flag) =>
          flag.startsWith("--") ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`,
        );
        const argument = { none: "", file: " -r -F", other: " -x" }[value];
        return `complete -c gsv${when([...seen, ...none])} ${given.join(" ")}${argument} -d ${quoted(description)}`;
      }),
    ];
  });
  return `# fish completion of gsv: gsv completion fish | source\n${lines.join("\n")}\n`;
}

/** Quotes a text for fish. */
function quoted(text: string): string {
  return `'${text.replace(/['\\]/g, "\\$&")}'`;
}

const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript };

/** Prints the script with which a shell completes the commands in `entries`. */
export function printCompletion(shell: keyof typeof scripts, entries: readonly CommandEntry[]): Action {
  return async (context) => {
    const script = scripts[shell](completionWords(entries));
    context.printExactly({ shell, script }, script);
  };
}

/** The words that may follow one command. */
interface CommandWords {
  /** The command's words without `gsv`: `session list`; empty for `gsv` itself. */
  path: string;
  /** The commands of a group, including aliases, with their summaries. */
  commands: readonly { name: string; summary: string }[];
  options: readonly OptionWords[];
}

/** An option as it is typed. */
interface OptionWords {
  /** `-f` and `--follow`. */
  names: readonly string[];
  description: string;
  /** The option's value: none, a file or folder, or another one. */
  value: "none" | "file" | "other";
}

/** Every command of `gsv` with the words that may follow it, `gsv` itself first. */
function completionWords(entries: readonly CommandEntry[]): CommandWords[] {
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
