import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { namesOf } from "../../../../cli/app/program.ts";
import { commands } from "../../../../cli/commands/command-table.ts";
import { newFolder } from "../../../support/run/test-folders.ts";
import { gsv } from "../../run-gsv.ts";

const script = async (shell: string) => (await gsv(["completion", shell])).stdout;

/** The completions of bash at the end of a line that begins with `gsv`, in a folder with the file notes.md and a folder. */
async function offered(line: string): Promise<string[]> {
  const cwd = newFolder();
  mkdirSync(join(cwd, "notes"));
  writeFileSync(join(cwd, "notes.md"), "");
  const words = line.split(" ").map((word) => `'${word}'`);
  const program = `${await script("bash")}
complete -p gsv >/dev/null || exit 1
COMP_WORDS=(${words.join(" ")}); COMP_CWORD=${words.length - 1}; _gsv
printf '%s\\n' "\${COMPREPLY[@]}"`;
  const printed = execFileSync("bash", ["--norc", "-c", program], { cwd, encoding: "utf8" });
  return printed.split("\n").filter((word) => word !== "");
}

describe("the completion of bash", () => {
  it("offers every command, or those that begin with the typed word", async () => {
    expect(await offered("gsv ")).toEqual(commands.map(({ name }) => name.split(" ")[0]));
    expect(await offered("gsv sess")).toEqual(["session"]);
  });

  it("offers the commands of a group, including aliases, no matter which options come between", async () => {
    expect(await offered("gsv workspace ge")).toEqual(["get"]);
    expect(await offered("gsv --json -u wss://x token ")).toEqual(["create", "list", "revoke"]);
    expect(await offered("gsv token --config session ")).toEqual(["create", "list", "revoke"]);
    expect(await offered("gsv token list --li")).toEqual([]);
    expect(await offered("gsv session list --li")).toEqual(["--limit"]);
  });

  it("offers the options of a command and the global ones", async () => {
    expect(await offered("gsv dev --")).toEqual(
      expect.arrayContaining(["--serve", "--port", "--json", "--help"]),
    );
    expect(await offered("gsv --v")).toEqual(["--version"]);
  });

  it("offers files where one is expected, and nothing for other values", async () => {
    expect((await offered("gsv workspace put x no")).sort()).toEqual(["notes", "notes.md"]);
    expect((await offered("gsv --config no")).sort()).toEqual(["notes", "notes.md"]);
    expect(await offered("gsv session list --limit no")).toEqual([]);
  });
});

describe("gsv completion", () => {
  it("prints the same words for zsh, which runs the bash completion", async () => {
    const [, ...body] = (await script("bash")).split("\n");
    expect(await script("zsh")).toContain(`bashcompinit && bashcompinit\n${body.join("\n")}`);
  });

  it("prints a line for fish for each command and option, with its description in quotes", async () => {
    const lines = (await script("fish")).trimEnd().split("\n");
    const workspace = commands.find(({ name }) => name === "workspace")?.commands ?? [];
    const names = workspace.flatMap(namesOf).join(" ");
    expect(names).toMatch(/\bcat get\b/);
    expect(lines).toContain(
      `complete -c gsv -f -n "__fish_seen_subcommand_from workspace; and not __fish_seen_subcommand_from ${names}" -a rm -d 'delete a file'`,
    );
    expect(lines).toContain(
      `complete -c gsv -n "__fish_seen_subcommand_from session; and __fish_seen_subcommand_from list" -l limit -x -d 'maximum number of sessions (default 100)'`,
    );
    const outside = lines.slice(1).map((line) => line.replaceAll(/'(?:[^'\\]|\\.)*'|"[^"]*"/g, ""));
    expect(outside.filter((line) => !/^complete -c gsv[ \w-]*$/.test(line))).toEqual([]);
  });

  it("prints the script as JSON with --json", async () => {
    const { stdout } = await gsv(["completion", "bash", "--json"]);
    expect(JSON.parse(stdout)).toEqual({ shell: "bash", script: await script("bash") });
  });
});
