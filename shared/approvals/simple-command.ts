/** Words that begin a compound command, and commands that run other commands: what follows them is not their argument. */
const notSimple = new Set([
  ...["if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for", "in"],
  ...["function", "time", "coproc", "select", "declare", "typeset", "local", "export", "readonly", "let"],
  ...["sudo", "doas", "su", "env", "sh", "bash", "zsh", "dash", "ksh", "fish", "xargs", "nohup", "timeout"],
  ...["nice", "ionice", "command", "builtin", "exec", "eval", "source", ".", "stdbuf", "setsid", "watch"],
  ...["parallel", "busybox", "script", "unshare", "chroot", "flock", "ssh", "alias", "trap", "enable", "set"],
]);

/** A program's name: what it is does not depend on quotes or blanks around it. */
const programName = /^[A-Za-z0-9_][A-Za-z0-9_./+-]*$|^\.{0,2}\/[A-Za-z0-9_./+-]+$/;

/** Characters that no shell changes or interprets in an unquoted word. */
const plain = /[A-Za-z0-9_./:,@%+=-]/;

/** Text that a person does not see as it is: control, format and bidirectional characters, and blanks other than a space. */
const invisible = /(?![\t ])[\p{C}\p{Z}]/u;

/**
 * The words of a command line that is one simple command, exactly as every POSIX shell would pass them: no expansion, no
 * operator, no assignment, no wrapper.
 * @returns undefined for anything else, and for what this parser is not sure about
 */
export function parseSimple(command: string): string[] | undefined {
  if (invisible.test(command)) return undefined;
  const words: string[] = [];
  let word: string | undefined;
  for (let at = 0; at < command.length; at++) {
    const char = command.charAt(at);
    if (char === " " || char === "\t") {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else if (char === "'" || char === '"') {
      const end = command.indexOf(char, at + 1);
      const quoted = command.slice(at + 1, end);
      if (end < 0 || (char === '"' && /[$`\\!]/.test(quoted))) return undefined;
      word = (word ?? "") + quoted;
      at = end;
    } else if (plain.test(char) && !(char === "=" && word === undefined)) word = (word ?? "") + char;
    else return undefined;
  }
  if (word !== undefined) words.push(word);
  const [program] = words;
  return program === undefined || !programName.test(program) || notSimple.has(baseName(program))
    ? undefined
    : words;
}

/** The last part of a program's path. */
export function baseName(program: string): string {
  return program.slice(program.lastIndexOf("/") + 1);
}

/**
 * Every part of a command line that may be a command: the whole, what stands between operators and in substitutions, and what
 * follows each word of it, so that wrappers hide nothing. Quotes and backslashes are removed. For rules that forbid or ask: it
 * finds too much rather than too little.
 */
export function possibleCommands(command: string): string[] {
  const bare = command
    .replaceAll(/\\\r?\n/g, " ")
    .replaceAll(/["'\\]|\$\{IFS\}|\$IFS/g, (found) => (found.startsWith("$") ? " " : ""));
  const parts = bare.split(/[;&|()<>`{}\n\r!]+/).map((part) => part.trim());
  const tails = parts.flatMap((part) => {
    const words = part.split(/\s+/);
    return words.map((_, from) => words.slice(from).join(" "));
  });
  return [...new Set([command, bare.trim(), ...tails].filter((text) => text !== ""))];
}
