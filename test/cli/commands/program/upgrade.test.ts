import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { beforeEach, describe, expect, it } from "vitest";
import { Context } from "../../../../cli/app/context.ts";
import { upgradeCheckout, upgradePackage } from "../../../../cli/commands/program/upgrade-command.ts";
import { newFolder } from "../../../support/run/test-folders.ts";
import { gsv } from "../../run-gsv.ts";

/** A home with a program `npm` that records its calls, and writes `version` into the manifest of `folder`. */
let home = "";
let env: Record<string, string> = {};
beforeEach(() => {
  home = newFolder();
  mkdirSync(join(home, "bin"));
  const npm = join(home, "bin/npm");
  writeFileSync(npm, '#!/bin/sh\necho "npm $*" >> "$HOME/calls"\n[ -z "$MAKES" ] || cp "$MAKES" "$PLACE"\n');
  chmodSync(npm, 0o755);
  const author = { GIT_AUTHOR_NAME: "a", GIT_AUTHOR_EMAIL: "a@example.com" };
  const committer = { GIT_COMMITTER_NAME: "a", GIT_COMMITTER_EMAIL: "a@example.com" };
  env = { HOME: home, PATH: `${home}/bin:${process.env.PATH}`, ...author, ...committer };
});
const calls = () => readFileSync(join(home, "calls"), "utf8");

/** Runs an upgrade, and returns the result that it prints. */
async function printed(run: (context: Context) => Promise<void>): Promise<Record<string, unknown>> {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const context = new Context({ stdin, stdout, stderr, env, cwd: home }, { json: true });
  await run(context);
  return JSON.parse(String(stdout.read()));
}

describe("gsv upgrade in a checkout", () => {
  let [origin, checkout] = ["", ""];
  const git = (cwd: string, ...args: string[]) => execFileSync("git", args, { cwd, env, encoding: "utf8" });
  const commit = (cwd: string, version: string) => {
    writeFileSync(join(cwd, "package.json"), JSON.stringify({ version }));
    git(cwd, "add", "-A");
    git(cwd, "commit", "-qm", version);
  };
  beforeEach(() => {
    [origin, checkout] = [join(home, "origin"), join(home, "checkout")];
    git(home, "init", "-q", "-b", "main", origin);
    commit(origin, "0.1.0");
    git(home, "clone", "-q", origin, checkout);
  });
  const upgrade = (check = false) => printed((context) => upgradeCheckout(context, checkout, check));

  it("installs the newest commits and their packages", async () => {
    commit(origin, "0.1.5");
    commit(origin, "0.2.0");
    expect(await upgrade()).toMatchObject({
      ...{ upgraded: true, upstream: "origin/main", commits: 2, before: "0.1.0", version: "0.2.0" },
    });
    expect(git(checkout, "rev-parse", "HEAD")).toBe(git(origin, "rev-parse", "HEAD"));
    expect(calls()).toBe("npm ci --no-audit --no-fund --no-update-notifier\n");
  });

  it("only reports newer commits with --check, and installs nothing when there are none", async () => {
    expect(await upgrade()).toMatchObject({ upgraded: false, commits: 0, version: "0.1.0" });
    commit(origin, "0.2.0");
    expect(await upgrade(true)).toMatchObject({ upgraded: false, commits: 1, version: "0.1.0" });
    expect(calls).toThrow("ENOENT");
  });

  it("changes nothing when the checkout has local commits, or its branch has no upstream", async () => {
    commit(origin, "0.2.0");
    commit(checkout, "0.1.1");
    await expect(upgrade()).rejects.toThrow(/git merge in .*fast-forward/);
    git(checkout, "branch", "--unset-upstream");
    await expect(upgrade()).rejects.toThrow("has no upstream to upgrade from");
    expect(readFileSync(join(checkout, "package.json"), "utf8")).toContain("0.1.1");
    expect(calls).toThrow("ENOENT");
  });
});

describe("gsv upgrade of an installed package", () => {
  let folder = "";
  beforeEach(() => {
    folder = join(home, "global/lib/node_modules/gsv-cli");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "package.json"), '{"version":"0.1.0"}');
    writeFileSync(join(home, "new.json"), '{"version":"0.2.0"}');
    writeFileSync(join(home, "gsv-cli-0.2.0.tgz"), "");
  });
  const upgrade = (file?: string, check = false) =>
    printed((context) => upgradePackage(context, folder, file, check));

  it.each(["gsv-cli-0.2.0.tgz", "https://example.com/gsv-cli-0.2.0.tgz"])(
    "replaces the package by %s, using npm",
    async (file) => {
      Object.assign(env, { MAKES: join(home, "new.json"), PLACE: join(folder, "package.json") });
      expect(await upgrade(file)).toMatchObject({ upgraded: true, before: "0.1.0", version: "0.2.0" });
      const source = file.startsWith("https:") ? file : join(home, file);
      expect(calls()).toBe(
        `npm install --global --prefix ${join(home, "global")} --no-audit --no-fund --no-update-notifier ${source}\n`,
      );
    },
  );

  it("never asks the registry for a name, which could be a foreign package", async () => {
    for (const word of ["gsv-cli", "gsv-cli@latest", "missing.tgz", "http://example.com/gsv-cli.tgz"])
      await expect(upgrade(word)).rejects.toThrow("neither a .tgz file nor an https address");
    await expect(upgrade()).rejects.toThrow("was installed from a file");
    await expect(upgrade("gsv-cli-0.2.0.tgz", true)).rejects.toThrow("was installed from a file");
    expect(calls).toThrow("ENOENT");
  });

  it("does not touch an installation that is not a global one of npm", async () => {
    folder = join(home, "project/node_modules/gsv-cli");
    await expect(upgrade("gsv-cli-0.2.0.tgz")).rejects.toThrow("is not a global npm installation");
  });
});

it("gsv upgrade of a checkout accepts no file", async () => {
  const refused = await gsv(["upgrade", "gsv-cli-0.2.0.tgz"]);
  expect(refused).toMatchObject({ code: 2, stdout: "" });
  expect(refused.stderr).toContain("without a file");
});
