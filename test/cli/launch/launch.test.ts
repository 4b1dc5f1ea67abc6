import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openBuild } from "../../../cli/launch/open-build.mjs";
import { pruneBuilds } from "../../../cli/launch/prune-builds.mjs";
import { sourceKey } from "../../../cli/launch/source-key.mjs";
import { until } from "../../support/until.ts";
import { LaunchProject } from "./launch-project.ts";

let project: LaunchProject;
beforeEach(() => {
  project = new LaunchProject();
});
afterEach(() => project.remove());

const done = (stdout: string) => ({ code: 0, stdout: `${stdout}\n`, stderr: "" });
const ownFolder = () => join(project.temporary, `gsv-${process.getuid?.()}`);
const hourMs = 3_600_000;

describe("the program that runs is that of the sources", () => {
  it("is built at the first start and found at the next", async () => {
    expect(await project.run()).toEqual(done("hello"));
    const [build = ""] = readdirSync(project.builds);
    const { ino } = statSync(join(project.builds, build, "main.mjs"));
    expect(await project.run()).toEqual(done("hello"));
    expect(readdirSync(project.builds)).toEqual([build]);
    expect(statSync(join(project.builds, build, "main.mjs")).ino).toBe(ino);
  });

  it("changes when a source of the same length and age replaces another, and back when that returns", async () => {
    await project.run();
    const file = join(project.root, "cli/app/main.ts");
    const { atime, mtime } = statSync(file);
    project.says("HELLO");
    utimesSync(file, atime, mtime);
    expect(await project.run()).toEqual(done("HELLO"));
    project.says("hello");
    expect(await project.run()).toEqual(done("hello"));
    expect(readdirSync(project.builds)).toHaveLength(2);
  });

  it("is the same no matter how the project's path is written", () => {
    expect(sourceKey(`${project.root}/`)).toBe(sourceKey(project.root));
  });

  it("changes with a source in functions, in local and in shared", async () => {
    const rooms = ["functions", "local", "shared"];
    const imports = rooms.map((room) => `import { ${room} } from "../../${room}/greeting.ts";`);
    for (const room of rooms) project.write(`${room}/greeting.ts`, `export const ${room} = "one";`);
    project.main(`console.log(${rooms});`, imports.join("\n"));
    expect(await project.run()).toEqual(done("one one one"));
    const keys = new Set([sourceKey(project.root)]);
    for (const [index, room] of rooms.entries()) {
      project.write(`${room}/greeting.ts`, `export const ${room} = "two";`);
      expect(keys.add(sourceKey(project.root)).size).toBe(index + 2);
    }
    expect(await project.run()).toEqual(done("two two two"));
  });

  it("changes with the installed packages", async () => {
    const install = (version: string) => {
      project.write("node_modules/greeting/package.json", '{"main": "index.js"}');
      project.write("node_modules/greeting/index.js", `exports.greeting = "${version}";`);
      project.write("node_modules/.package-lock.json", JSON.stringify({ greeting: version }));
    };
    install("one");
    project.main("console.log(greeting);", 'import { greeting } from "greeting";');
    await project.run();
    install("two");
    expect(await project.run()).toEqual(done("two"));
  });

  it("is rebuilt when the project was moved", async () => {
    project.main("console.log(import.meta.dirname);");
    expect(await project.run()).toEqual(done(join(project.root, "cli/app")));
    const moved = `${project.root}-moved`;
    renameSync(project.root, moved);
    const run = project.start("../project-moved/cli/bin.mjs");
    expect(await run.ended).toEqual(done(join(moved, "cli/app")));
  });

  it("names its functions in stack traces", async () => {
    project.main(
      "try { failNow(); } catch (error) { console.log(String((error as Error).stack)); }",
      'function failNow(): never { throw new Error("failed"); }',
    );
    const { stdout } = await project.run();
    expect(stdout).toMatch(/^Error: failed\n +at failNow .*\n +at (async )?runProcess /);
  });
});

describe("a build exists completely or not at all", () => {
  it("several concurrent first starts all run it, and leave one build", async () => {
    const runs = await Promise.all([1, 2, 3, 4].map(() => project.run()));
    expect(runs).toEqual(runs.map(() => done("hello")));
    expect(readdirSync(project.builds)).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/)]);
  });

  it("one that kill -9 interrupted is not used", async () => {
    const first = project.start();
    await until(() => existsSync(project.builds) && readdirSync(project.builds).length > 0, "it builds");
    first.child.kill("SIGKILL");
    await first.ended;
    expect(await project.run()).toEqual(done("hello"));
  });

  it("an interrupted one is removed by a later build, once it is an hour old", async () => {
    const left = ["unfinished-old", "unfinished-new"].map((name) => join(project.builds, name));
    for (const folder of left) {
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, "main.mjs"), "half");
    }
    const old = new Date(Date.now() - 2 * hourMs);
    utimesSync(left[0]!, old, old);
    await project.run();
    expect(left.map((folder) => existsSync(folder))).toEqual([false, true]);
  });
});

describe("builds that are no longer needed", () => {
  /** Makes this number of other builds, one after the other, by copying a build. */
  function newVersions(count: number): void {
    const [first = ""] = readdirSync(project.builds);
    const unmarked = (path: string) => !basename(path).startsWith("used-by-");
    for (let version = 0; version < count; version++)
      cpSync(join(project.builds, first), join(project.builds, randomBytes(16).toString("hex")), {
        recursive: true,
        filter: unmarked,
      });
  }

  it("are removed at a build, except the three most recently used", async () => {
    await project.run();
    const [build = ""] = readdirSync(project.builds);
    newVersions(3);
    project.says("another version");
    expect(await project.run()).toEqual(done("another version"));
    expect(readdirSync(project.builds)).toHaveLength(3);
    expect(readdirSync(project.builds)).not.toContain(build);
  });

  it("remain while a process runs them, because it loads chunks later", async () => {
    project.write("cli/late.ts", 'export const late = "loaded late";');
    project.main(
      'console.log("ready"); for await (const _ of process.stdin) break; console.log((await import("../late.ts")).late);',
    );
    const early = project.start();
    await early.prints("ready");
    const [build = ""] = readdirSync(project.builds);
    newVersions(4);
    pruneBuilds(project.builds);
    early.child.stdin.end("go on\n");
    expect(await early.ended).toEqual(done("ready\nloaded late"));
    newVersions(3);
    pruneBuilds(project.builds);
    expect(readdirSync(project.builds)).not.toContain(build);
  });

  it("are removed although a killed process has used them", async () => {
    project.main('console.log("ready"); for await (const _ of process.stdin) break;');
    const killed = project.start();
    await killed.prints("ready");
    killed.child.kill("SIGKILL");
    await killed.ended;
    const [build = ""] = readdirSync(project.builds);
    newVersions(3);
    pruneBuilds(project.builds);
    expect(readdirSync(project.builds)).not.toContain(build);
  });

  it("remain for a day after the start of a process of another container", async () => {
    await project.run();
    const [build = ""] = readdirSync(project.builds);
    const mark = join(project.builds, build, "used-by-1@another-container");
    writeFileSync(mark, "");
    newVersions(4);
    pruneBuilds(project.builds);
    expect(readdirSync(project.builds)).toContain(build);
    const old = new Date(Date.now() - 25 * hourMs);
    utimesSync(mark, old, old);
    newVersions(1);
    pruneBuilds(project.builds);
    expect(readdirSync(project.builds)).not.toContain(build);
  });
});

describe("a read-only project", () => {
  beforeEach(() => writeFileSync(join(project.root, "dist"), "not a folder"));

  it("is built into a private folder of the user", async () => {
    expect(await project.run()).toEqual(done("hello"));
    expect(statSync(ownFolder()).mode & 0o777).toBe(0o700);
    const builds = readdirSync(ownFolder());
    expect(await project.run()).toEqual(done("hello"));
    expect(readdirSync(ownFolder())).toEqual(builds);
  });

  it("runs nothing from a folder that other users can write", async () => {
    await project.run();
    const [build = ""] = readdirSync(ownFolder());
    project.write(`../tmp/${ownFolder().split("/").pop()}/${build}/main.mjs`, 'console.log("another user");');
    chmodSync(ownFolder(), 0o777);
    expect(await project.run()).toEqual({
      code: 1,
      stdout: "",
      stderr: `gsv: cannot write a build to ${project.builds} (ENOTDIR) or ${ownFolder()} (another user can write there); make one of them writable\n`,
    });
  });
});

it("reports in one line that the disk is too full for a build", () => {
  project.says("x".repeat(10_000));
  // The limit of a file's size simulates a full disk.
  const limited = "trap '' XFSZ; ulimit -f 4; exec \"$0\" cli/bin.mjs";
  const options = { cwd: project.root, env: { PATH: process.env.PATH, TMPDIR: project.temporary } };
  const { status, stderr } = spawnSync("sh", ["-c", limited.replace("$0", process.execPath)], options);
  expect(String(stderr)).toBe(`gsv: cannot write a build to ${project.builds}: the disk is full\n`);
  expect(status).toBe(1);
});

describe("sources that cannot be built", () => {
  it("are reported with their line, and no older build runs", async () => {
    await project.run();
    project.main("const = 1;");
    const { code, stdout, stderr } = await project.run();
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain("cli/app/main.ts:3:");
    expect(stderr).toMatch(/\ngsv: the sources cannot be built\n$/);
    const asked = await project.run("cli/bin.mjs", "status", "--json");
    expect(JSON.parse(asked.stdout)).toEqual({
      error: { code: "launch", message: "the sources cannot be built" },
    });
    expect(asked.stderr).not.toContain("gsv:");
  });

  it("do not make `npm ci` fail", async () => {
    project.main("const = 1;");
    const { code, stderr } = await project.run("cli/launch/prebuild.mjs");
    expect(code).toBe(0);
    expect(stderr).toMatch(/\ngsv: not built yet: the sources cannot be built\n$/);
  });

  it("are not built with a file that the source key does not cover", async () => {
    project.write("test/fake.ts", 'export const fake = "fake";');
    project.main("console.log(fake);", 'import { fake } from "../../test/fake.ts";');
    const { code, stderr } = await project.run();
    expect(code).toBe(1);
    expect(stderr).toMatch(/^gsv: test\/fake\.ts is outside of cli, functions, local, shared/);
  });

  it("ask for `npm ci` when the packages are not installed", async () => {
    rmSync(join(project.root, "node_modules"), { recursive: true });
    const { code, stderr } = await project.run();
    expect(code).toBe(1);
    expect(stderr).toBe("gsv: esbuild is not installed; run `npm ci` in the project's folder\n");
  });
});

it("this project's build contains no test code, no CDK and no build tool", async () => {
  const build = await openBuild(join(import.meta.dirname, "../../.."));
  const maps = readdirSync(build, { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".map"),
  );
  const sources = maps.flatMap(
    (name): string[] => JSON.parse(readFileSync(join(build, name), "utf8")).sources,
  );
  const unexpected = /(^|\/)(test|infra)\/|node_modules\/(aws-cdk|esbuild|tsx|typescript|vitest)/;
  expect(sources.some((source) => source.endsWith("/cli/app/main.ts"))).toBe(true);
  const own = sources.filter((source) => !source.includes("/node_modules/"));
  expect([...own, ...sources].filter((source) => unexpected.test(source))).toEqual([]);
});
