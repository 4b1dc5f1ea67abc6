import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { CommandEntry } from "../../cli/app/program.ts";
import { commands } from "../../cli/commands/command-table.ts";
import { gsv } from "./run-gsv.ts";

const root = join(import.meta.dirname, "../..");

function withPaths(entries: readonly CommandEntry[], before: string[] = []): [string, CommandEntry][] {
  return entries.flatMap((entry): [string, CommandEntry][] => {
    const path = [...before, entry.name.split(" ")[0] ?? ""];
    return [[path.join(" "), entry], ...withPaths(entry.commands ?? [], path)];
  });
}

describe("the command line", () => {
  it("shows its commands when called without arguments", async () => {
    const run = await gsv([]);
    expect(run.code).toBe(0);
    for (const { name } of commands) expect(run.stdout).toContain(name.split(" ")[0]);
  });

  it.each(withPaths(commands))("explains `%s` with an example", async (path, entry) => {
    const run = await gsv([...path.split(" "), "--help"]);
    expect(run.code).toBe(0);
    expect(run.stdout).toContain(`Usage: gsv ${path}`);
    for (const example of entry.examples)
      expect(run.stdout).toContain(example.includes("| gsv ") ? `\n  ${example}` : `\n  gsv ${example}`);
  });

  it.each(withPaths(commands).filter(([, entry]) => entry.load))("can load `%s`", async (_path, entry) => {
    expect(await entry.load?.()).toBeTypeOf("function");
  });

  it("prints its version", async () => {
    const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    expect(await gsv(["--version"])).toMatchObject({ code: 0, stdout: `${manifest.version}\n` });
  });

  it("answers an unknown command in one line, with exit code 2", async () => {
    const run = await gsv(["sesion"]);
    expect(run.code).toBe(2);
    expect(run.stdout).toBe("");
    expect(run.stderr).toMatch(/^gsv: unknown command 'sesion'.*session.*gsv --help`\n$/);
  });

  it("answers an unknown option with exit code 2", async () => {
    const run = await gsv(["session", "list", "--colour"]);
    expect(run.code).toBe(2);
    expect(run.stderr).toBe("gsv: unknown option '--colour'; see `gsv session list --help`\n");
  });

  it.each([
    [["help", "sesion"], "there is no command sesion (did you mean session?); see `gsv --help`"],
    [["help", "token", "crate"], "there is no command token crate (did you mean create?); see `gsv --help`"],
    [["session", "lst"], "unknown command 'lst' (Did you mean list?); see `gsv session --help`"],
    [["tools", "call"], "missing required argument 'tool'; see `gsv tools call --help`"],
    [
      ["-u", "ws://x", "--token", "t", "tools", "call"],
      "missing required argument 'tool'; see `gsv tools call --help`",
    ],
    [["help", "session", "lst"], "there is no command session lst (did you mean list?); see `gsv --help`"],
    [["--data", "x", "help", "crn"], "there is no command crn (did you mean cron?); see `gsv --help`"],
    [["node", "statu"], "there is no command node statu (did you mean status?); see `gsv node --help`"],
    [["help", "nothing"], "there is no command nothing; see `gsv --help`"],
  ])("answers %j with what is missing, and where that is explained", async (args, message) => {
    expect(await gsv(args)).toMatchObject({ code: 2, stdout: "", stderr: `gsv: ${message}\n` });
  });

  it("prints the help of a group that is called without a command", async () => {
    const run = await gsv(["workspace"]);
    expect(run).toEqual({ ...(await gsv(["workspace", "--help"])), code: 0 });
    expect(run.stdout).toContain("print a file");
  });

  it("lists the commands of a group as an error with --json", async () => {
    const run = await gsv(["agent", "--json"]);
    expect(run.code).toBe(2);
    expect(JSON.parse(run.stdout).error.message).toMatch(
      /^gsv agent needs one of list, add, remove, init; see/,
    );
  });

  it("explains a command after `help`, too", async () => {
    const run = await gsv(["help", "session", "set"]);
    expect(run).toMatchObject({
      code: 0,
      stderr: "",
      stdout: expect.stringContaining("Usage: gsv session set"),
    });
  });

  it("prints errors as JSON on standard output with --json", async () => {
    const run = await gsv(["session", "list", "--json"]);
    expect(run.code).toBe(1);
    expect(JSON.parse(run.stdout)).toEqual({
      error: { code: "config", message: expect.stringContaining("no gateway is configured") },
    });
    expect(run.stderr).toBe("");
  });

  it("prints wrong usage as JSON, too", async () => {
    const run = await gsv(["session", "list", "--limit", "none", "--json"]);
    expect(run.code).toBe(2);
    expect(JSON.parse(run.stdout)).toEqual({
      error: { code: "usage", message: "--limit must be a whole number from 1 to 1000, not none" },
    });
  });

  it("tells a new user what to do when nothing is configured", async () => {
    const run = await gsv(["session", "list"]);
    expect(run.code).toBe(1);
    expect(run.stderr).toMatch(/^gsv: no gateway is configured; run `gsv init`.*\n$/);
  });

  it("starts as a separate process", () => {
    const run = spawnSync(process.execPath, [join(root, "cli/bin.mjs"), "--version"], { encoding: "utf8" });
    expect(run).toMatchObject({ status: 0, stderr: "" });
    expect(run.stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it("exits silently when the reader of its output closes the pipe early", () => {
    const script = `${process.execPath} ${join(root, "cli/bin.mjs")} --help | true`;
    const run = spawnSync("sh", ["-c", script], { encoding: "utf8" });
    expect(run).toMatchObject({ status: 0, stderr: "" });
  });

  it.each([
    [[], { stdout: "", stderr: "gsv: Node 20.18.3 is too old; install Node 20.19 or newer\n" }],
    [
      ["--json"],
      {
        stdout: `{"error":{"code":"node","message":"Node 20.18.3 is too old; install Node 20.19 or newer"}}\n`,
        stderr: "",
      },
    ],
  ])("says in one line that an old Node is too old: %j", (args, said) => {
    const source = readFileSync(join(root, "cli/bin.mjs"), "utf8")
      .replace(/^#!.*\n/, "")
      .replaceAll("process.versions.node", '"20.18.3"');
    const run = spawnSync(process.execPath, ["--input-type=module", "-e", source, "--", ...args], {
      encoding: "utf8",
      cwd: root,
    });
    expect(run).toMatchObject({ status: 1, ...said });
  });
});
