import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * The commands that bash executes for each line, with the words that it passes. Every command is a function that prints them.
 * @param programs names of functions; other names without a slash are printed too, unless bash itself has them
 * @returns also the files that the lines have created
 */
export function executedByBash(
  lines: readonly string[],
  programs: Iterable<string>,
): { commands: string[][][]; files: string[] } {
  const folder = mkdtempSync(join(tmpdir(), "bash-words-"));
  const print = (name: string, words: string) =>
    `function ${name} { builtin printf '%s\\0' COMMAND ${words} >&3; }`;
  const script = `
    PATH=/nowhere
    ${[...programs].map((name) => print(name, `${name} "$@"`)).join("\n")}
    ${print("command_not_found_handle", '"$@"')}
    while IFS= builtin read -r -d '' line <&4; do
      eval "$line" </dev/null >/dev/null; builtin wait; builtin printf 'NEXT\\0' >&3
    done`;
  try {
    const printed = execFileSync("bash", ["--norc", "--noprofile", "-c", `{ ${script}\n} 4<&0 3>&1`], {
      ...{ input: lines.map((line) => `${line}\0`).join(""), cwd: folder, maxBuffer: 1e8 },
      stdio: ["pipe", "pipe", "ignore"],
    }).toString();
    const commands = printed
      .split("NEXT\0")
      .slice(0, -1)
      .map((one) =>
        one
          .split("COMMAND\0")
          .slice(1)
          .map((words) => words.split("\0").slice(0, -1)),
      );
    return { commands, files: readdirSync(folder) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
