import { baseName, parseSimple, possibleCommands } from "./simple-command.ts";

type Words = readonly string[];
type Check = (options: Words, others: Words) => boolean;

const optionsAre =
  (pattern: RegExp): Check =>
  (options) =>
    options.every((option) => pattern.test(option));
const any: Check = () => true;

/** Reading subcommands of git. `branch` and `remote` only without a name. */
const gitReads = new Set([
  "status",
  "log",
  "diff",
  "show",
  "blame",
  "rev-parse",
  "ls-files",
  "describe",
  "shortlog",
]);
/** Options of git that make it read other settings, programs or repositories. */
const gitElsewhere = /^(?:-c$|-C$|--exec|--config|--git-dir|--work-tree)/;
const gitWrites = /^(?:-O|-o|--o(?!neline$)|--ext|--te|--no-index)/;

/** Programs that only read, and which of their options do. Everything else may write, run programs, or open connections. */
const readers: Readonly<Record<string, Check>> = {
  ...Object.fromEntries(
    ["ls", "cat", "head", "wc", "stat", "du", "df", "cut", "tr", "nl", "grep", "egrep", "fgrep"].map(
      (name) => [name, any],
    ),
  ),
  ...Object.fromEntries(
    ["pwd", "echo", "whoami", "uname", "id", "uptime", "basename", "dirname", "realpath"].map((name) => [
      name,
      any,
    ]),
  ),
  ...Object.fromEntries(
    ["readlink", "md5sum", "sha1sum", "sha256sum", "diff", "cmp", "which", "free"].map((name) => [name, any]),
  ),
  true: any,
  // Other formats and options set variables, whose index a shell evaluates.
  printf: (options, [format = ""]) => options.length === 0 && /^(?:[^%]|%[s%])*$/.test(format),
  file: optionsAre(/^-(?:[bihLkN]+|-brief|-mime\S*)$/),
  tail: optionsAre(/^-(?:\d+|n\d*|c\d*|q|v)$/),
  sort: optionsAre(/^-[nrukfhV\d.,]+$/),
  uniq: (options, others) => others.length === 0 && options.every((option) => /^-[cdui]+$/.test(option)),
  date: (options, others) =>
    others.every((word) => word.startsWith("+")) &&
    optionsAre(/^-(?:[uR]|I\w*|-utc|-iso-8601\S*|-rfc-\S*)$/)(options, []),
  // Prints lines by their numbers.
  sed: (options, [script = "", ...files]) =>
    options.join(" ") === "-n" && /^\d+(?:,(?:\d+|\$))?p$/.test(script) && files.length > 0,
  // With `e` it shows the environment of programs.
  ps: (options, others) =>
    others.every((word) => /^[aux]{1,3}$/.test(word)) &&
    optionsAre(/^-(?:ef|[aux]{1,3}|-sort=-?[a-z%]+)$/)(options, []),
  rg: (options) => !options.some((option) => /^--(?:pre|hostname-bin|search-zip)|^-[a-zA-Z]*z/.test(option)),
  find: optionsAre(
    /^-(?:i?name|i?path|type|maxdepth|mindepth|not|size|mtime|mmin|newer|print|print0|empty|o|a)$/,
  ),
  tree: optionsAre(/^-[adfhLIP]+$/),
  git: (options, [command = "", ...names]) =>
    gitReads.has(command)
      ? !options.some((option) => gitWrites.test(option) || gitElsewhere.test(option))
      : ["branch", "remote", "tag"].includes(command) &&
        names.length === 0 &&
        optionsAre(/^-(?:[avr]+|-list)$/)(options, []),
};

/** Programs that build, test and edit the files of a project: with them, words of the machine itself cause no harm elsewhere. */
const builders: Readonly<Record<string, Check>> = {
  ...Object.fromEntries(
    ["mkdir", "touch", "cp", "mv", "cd", "make", "tsc", "pytest"].map((name) => [name, any]),
  ),
  ...Object.fromEntries(
    ["npm", "pnpm", "yarn"].map((name) => [
      name,
      (_, [command = ""]: Words) => ["test", "run", "t"].includes(command),
    ]),
  ),
  npx: (_, [tool = ""]) => ["vitest", "jest", "tsc", "eslint", "biome", "prettier"].includes(tool),
  cargo: (_, [command = ""]) => ["build", "test", "check", "fmt", "clippy"].includes(command),
  go: (_, [command = ""]) => ["build", "test", "vet", "fmt"].includes(command),
  node: (options, files) => files.length > 0 && options.every((option) => option === "--test"),
  python: (options, files) => files.length > 0 && options.length === 0,
  python3: (options, files) => files.length > 0 && options.length === 0,
  git: (options, [command = ""]) =>
    [
      "add",
      "commit",
      "checkout",
      "switch",
      "stash",
      "branch",
      "merge",
      "restore",
      "tag",
      "rm",
      "mv",
    ].includes(command) &&
    !options.some((option) => gitElsewhere.test(option) || /^(?:--force|-f$)/.test(option)),
};

/** Programs that only print their version when asked for it. */
const versioned = new Set([
  ...["node", "npm", "python", "python3", "cargo", "rustc", "git", "java", "gcc"],
  ...["ruby", "php", "deno", "bun", "tsc", "docker", "make", "curl"],
]);

/** Places of secrets, and of what runs by itself. */
const sensitive = new RegExp(
  [
    String.raw`\.(?:ssh|aws|gnupg|netrc|docker|kube|npmrc|pypirc|azure|password-store|git-credentials|gsv|git/hooks)\b`,
    String.raw`(?:^|[/\s"'=:])\.env\b`,
    String.raw`\.config(?:/|$)|\.local/|id_(?:rsa|dsa|ecdsa|ed25519)|\.pem\b|\.key\b|keychain|wallet|cookies`,
    String.raw`/etc/|/proc/|/dev/|/root\b|/boot\b|/Library/|\bcrontab|authorized_keys`,
    "credential|passwd|password|secret|token",
    String.raw`\.(?:bash|zsh|sh)?(?:rc|_profile|profile|_history|_login|_logout|env)\b`,
  ].join("|"),
  "i",
);

/** Whether a path or a command's text names a place of secrets, or one whose files run by themselves. */
export function isSensitive(text: string): boolean {
  return sensitive.test(text);
}

/** Whether a command line consists of commands that only read, and names no secret. */
export function isPlainRead(command: string): boolean {
  return !isSensitive(command) && everyPart(command, readers);
}

/** Whether a command line only reads, builds, tests and edits files of a project. */
export function isDevelopment(command: string): boolean {
  return !isSensitive(command) && everyPart(command, { ...readers, ...builders }, readers);
}

/** Whether a command that only reads searches whole folders, so that nobody sees which files it reads. */
export function readsFolders(command: string): boolean {
  return partsOf(command).some(({ words: [program = "", ...words] }) => {
    const isRecursive = (word: string) => /^-(?!-)\S*[rR]|^--(?:rec|de|di)|recurse/.test(word);
    return program === "rg" || (/grep$|^diff$/.test(program) && words.some(isRecursive));
  });
}

/** The words of all commands of a line that are simple. */
export function wordsOf(command: string): string[] {
  return partsOf(command).flatMap(({ words }) => words);
}

/** The address of a plain request for a page, which has no room for much else. Undefined for any other command. */
export function plainPage(command: string): string | undefined {
  const [program = "", ...words] = parseSimple(command) ?? [];
  if (program !== "curl" && program !== "wget") return undefined;
  const addresses = words.filter((word) => !word.startsWith("-"));
  const options = words.filter((word) => word.startsWith("-"));
  const plainOptions = program === "curl" ? /^-(?:[sSLfI]+|-silent|-fail|-location)$/ : /^(?:-q|-qO-|-O-)$/;
  if (program === "wget" && !options.some((option) => /O-$/.test(option))) return undefined;
  const [address = ""] = addresses;
  const isPlain =
    addresses.length === 1 && options.every((option) => plainOptions.test(option)) && isPlainAddress(address);
  return isPlain ? address : undefined;
}

/** Whether an address is that of a page, without credentials and with little room for words of the sender. */
export function isPlainAddress(address: string): boolean {
  return /^https?:\/\/[a-z0-9.-]{1,80}(?::\d+)?(?:\/[\w.~%/-]{0,100})?$/i.test(address);
}

/** Commands that a person wants to see, whoever asks for them: broad deletion, changed rights, code from a page. */
const alwaysShown: readonly RegExp[] = [
  /^rm(?=.*\s-\S*[rR]|.*\s--recursive).*\s(?:\/\S*|~\S*|\.{1,2}\/?|\*|\$\S*|\S*\/\*)(?:\s|$)/,
  /^(?:mkfs\S*|fdisk|parted|shred|shutdown|reboot|wipefs)\b/,
  /^dd\b.*\bof=/,
  /^find\b.*\s-delete\b/,
  /^(?:chmod|chown|chgrp)\s(?=.*(?:-\w*R|--recursive))/,
  /^chmod\s+(?:\S+\s+)*(?:[0-7]?[0-7]{2}[2367]|\S*[oa]\+\w*w|\S*\+\w*s|\+w)/,
  /^(?:setfacl|visudo|usermod|useradd|userdel|passwd|chpasswd|sudo|doas|su|crontab)\b/,
  /^git\s+(?:\S+\s+)*push\b.*(?:--force|\s-f\b|--mirror|--delete)/,
];
const pipedIntoShell = /\b(?:curl|wget)\b[^\n]*\|\s*(?:sudo\s+)?(?:ba|z|da|k)?sh\b/;

/** Whether a command line contains one that is always shown to a person. */
export function isAlwaysShown(command: string): boolean {
  if (pipedIntoShell.test(command)) return true;
  return possibleCommands(command).some((one) => alwaysShown.some((pattern) => pattern.test(one)));
}

/** A command of a line: its words, none if it is not simple, and whether it stands behind a pipe. */
interface Part {
  words: string[];
  isPiped: boolean;
}

/**
 * The commands of a line that joins simple ones: `cd x && npm test 2>&1 | tail`. An operator within quotes leaves parts with one
 * quote, which are no simple commands.
 */
function partsOf(command: string): Part[] {
  const parts = command.split(/[ \t]+(&&|\|\||;|\|)[ \t]+/);
  return parts.flatMap((part, index) => {
    if (index % 2 === 1) return [];
    const words = parseSimple(part.replace(/[ \t]2>(?:&1|\/dev\/null)$/, "")) ?? [];
    return [{ words, isPiped: parts[index - 1] === "|" }];
  });
}

/**
 * Whether every command of a line passes its program's check, and none names a secret, whichever way its words are quoted.
 * @param piped checks for what stands behind a pipe; the same ones when absent
 */
function everyPart(command: string, checks: typeof readers, piped = checks): boolean {
  return partsOf(command).every(({ words: [program, ...words], isPiped }) => {
    const allowed = isPiped ? piped : checks;
    if (program === undefined || isSensitive(words.join(" "))) return false;
    if (versioned.has(program) && words.join(" ") === "--version") return true;
    if (baseName(program) !== program || !Object.hasOwn(allowed, program)) return false;
    const isOption = (word: string) => /^-./.test(word);
    return (
      allowed[program]?.(
        words.filter(isOption),
        words.filter((word) => !isOption(word)),
      ) === true
    );
  });
}
