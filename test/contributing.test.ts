import { execFile, execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

const page = readFileSync("CONTRIBUTING.md", "utf8");
const { scripts } = JSON.parse(readFileSync("package.json", "utf8")) as { scripts: Record<string, string> };

/** The commands in the page's shell blocks, without comments; commands joined by `&&` are separate. */
const commands = [...page.matchAll(/```sh\n(.*?)```/gs)]
  .flatMap(([, block = ""]) => block.split("\n"))
  .flatMap((line) => line.replace(/\s+# .*$/, "").split(" && "))
  .filter((command) => command !== "");

/** Runs a command in a shell, without the environment of this test run. */
function run(command: string): Promise<{ code: number; output: string }> {
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(VITEST|TEST$|NODE_ENV$|NODE_OPTIONS$)/.test(name)),
  );
  return new Promise((resolve) => {
    execFile("sh", ["-c", command], { env }, (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === "number" ? error.code : 0, output: `${stdout}${stderr}` }),
    );
  });
}

describe("a command of CONTRIBUTING.md", () => {
  const having = (pattern: RegExp) => commands.filter((command) => pattern.test(command));
  const listed = having(/^npx vitest run /);
  const scripted = having(/^npm (run \S+|test)/);
  const described = having(/^npm run \S+ -- |^npm run (fuzz|bench:\w+|check:\w+)$/);
  const conformance = having(/^node test\/conformance\/start\.mjs /);

  it("is of a kind that is tested below", () => {
    const tried = ["npm ci", ...listed, ...scripted, ...conformance];
    expect(commands.filter((command) => !tried.includes(command))).toEqual([]);
    expect(commands.length).toBeGreaterThan(10);
  });

  it.each(listed)("%s finds test files", async (command) => {
    const { code, output } = await run(command.replace("vitest run", "vitest list --filesOnly"));
    expect(output).toMatch(/^(\[\d+\] )?\S*test\/.*\.test\.ts$/m);
    expect(code).toBe(0);
  });

  it.each(scripted)("%s is a script of package.json, and the program that it starts exists", (command) => {
    const script = scripts[command.split(" ")[1] === "test" ? "test" : (command.split(" ")[2] ?? "")];
    expect(script).toBeDefined();
    const files = script?.match(/\S+\.(ts|mjs)\b/g) ?? [];
    expect(files.filter((file) => !existsSync(file))).toEqual([]);
  });

  it.each(described)("%s has options that the program knows", async (command) => {
    const help = command.includes(" -- ") ? "--help" : "-- --help";
    const { code, output } = await run(`${command} ${help}`);
    expect(output).toContain(command.split(" -- ")[0]);
    // A program without --help reports it as the first unknown option, and prints its usage.
    if (code !== 0) expect(output).toContain("Unknown option '--help'");
  });

  it.each(conformance)("%s starts", async (command) => {
    const { code, output } = await run(`${command} "no scenario has this name"`);
    expect(output).toContain('{"scenarios":0,');
    expect(code).toBe(0);
  });
});

describe("a path of CONTRIBUTING.md", () => {
  const files = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
    encoding: "utf8",
  }).split("\n");
  const present = files.filter((file) => existsSync(file));
  const folder = /^(cli|docs|functions|infra|local|shared|test)\//;
  const paths = [...page.matchAll(/`([^`\n]+)`/g)]
    .map(([, quoted = ""]) => quoted)
    .filter((quoted) => folder.test(quoted) && !quoted.includes(" "));

  it.each([...new Set(paths)])("%s matches a file", (path) => {
    const parts = path.split(/(<\w+>)/).map((part) => {
      if (part.startsWith("<")) return "([^/]+)";
      return part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    });
    const pattern = new RegExp(`^${parts.join("")}${path.endsWith("/") ? "" : "(/|$)"}`);
    expect(present.filter((file) => pattern.test(file))).not.toEqual([]);
  });

  it("is found in each recipe", () => {
    const recipes = page.split("\n## Add ").slice(1);
    expect(recipes).toHaveLength(5);
    expect(recipes.filter((recipe) => !paths.some((path) => recipe.includes(path)))).toEqual([]);
    expect(paths.filter((path) => path.includes("<")).length).toBeGreaterThan(5);
  });
});
