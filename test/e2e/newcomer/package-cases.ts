import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type GsvProcess, killLeftovers, runGsv, startGsv } from "../../cli/gsv-process.ts";
import type { Newcomer } from "./newcomer.ts";

const megabyte = 1024 * 1024;

const filesOf = (dir: string) =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

/** The modules that a bundled program still imports. */
async function importsOf(program: string): Promise<string[]> {
  const { metafile } = await build({
    entryPoints: [program],
    bundle: true,
    platform: "node",
    format: "esm",
    packages: "external",
    metafile: true,
    write: false,
    outdir: tmpdir(),
  });
  return Object.values(metafile.inputs)
    .flatMap(({ imports }) => imports)
    .filter(({ external }) => external)
    .map(({ path }) => path);
}

/** Makes a process print Node's built-in modules that it has loaded to standard error when it exits. */
const tellModules =
  "data:text/javascript,process.on('exit',()=>console.error(process.moduleLoadList.filter((name)=>/^NativeModule/.test(name)).join()))";

/** Tests the package that the README's commands packed and installed; packing another would take some seconds. */
export function describePackage({ folder: made, prefix }: Newcomer): void {
  const installed = join(prefix, "lib/node_modules/gsv-cli");
  const program = join(prefix, "bin/gsv");

  it("is at most 3 MB packed and 10 MB installed", () => {
    const [tarball = ""] = readdirSync(made).filter((name) => name.endsWith(".tgz"));
    expect(statSync(join(made, tarball)).size).toBeLessThan(3 * megabyte);
    const sizes = filesOf(installed).map((file) => statSync(file).size);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(10 * megabyte);
  });

  it("needs no other package, and contains no path of the folder in which it was built", async () => {
    const manifest = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
    expect(Object.keys(manifest).filter((key) => /dependencies/i.test(key))).toEqual([]);
    expect(readdirSync(join(installed, ".."))).toEqual(["gsv-cli"]);
    const imported = await importsOf(join(installed, "dist/launch.mjs"));
    expect(imported.length).toBeGreaterThan(50);
    const known = new Set([...builtinModules, ...builtinModules.map((name) => `node:${name}`)]);
    // Loaded only for a proxy that needs it, with an error if it is not installed.
    const optional = ["kerberos"];
    expect(imported.filter((name) => !known.has(name))).toEqual(optional);
    // Comments of bundled packages contain relative paths, so look for a path below the root.
    const quoted = new RegExp(`["'\`](file://)?${process.cwd()}`);
    const knowing = filesOf(installed).filter((file) => quoted.test(readFileSync(file, "utf8")));
    expect(knowing).toEqual([]);
  });

  it("cannot be published by mistake, and has the gateway version of this checkout", () => {
    const manifest = (file: string) => JSON.parse(readFileSync(file, "utf8"));
    expect(manifest("cli/package.json")).toMatchObject({
      private: true,
      version: manifest("package.json").version,
    });
    expect(manifest("package.json").private).toBe(true);
  });

  it("shows its help without loading modules that talk to a gateway or start a process", () => {
    const help = spawnSync(process.execPath, ["--import", tellModules, program, "--help"], {
      encoding: "utf8",
    });
    expect(help).toMatchObject({ status: 0, stdout: expect.stringContaining("Usage: gsv") });
    const loaded = help.stderr.trim().split(",");
    expect(loaded).toContain("NativeModule path");
    const slow = ["child_process", "crypto", "http", "https", "tls", "zlib"];
    expect(slow.filter((name) => loaded.includes(`NativeModule ${name}`))).toEqual([]);
  });

  it("includes the licences of its dependencies", () => {
    const licenses = readFileSync(join(installed, "dist/licenses.txt"), "utf8");
    for (const name of ["gsv", "commander", "@anthropic-ai/sdk"])
      expect(licenses).toMatch(new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ \\(MIT\\)\n\n.*MIT`, "ms"));
  });
}

/** Tests the same package in an empty home. */
export function describeInstallation({ prefix }: Newcomer): void {
  const program = join(prefix, "bin/gsv");
  const folder = mkdtempSync(join(tmpdir(), "gsv-package-"));
  const home = join(folder, "home");
  const run = (args: string[], env: Record<string, string> = {}, input = "") =>
    runGsv(home, args, { env, input, program });
  let gateway: GsvProcess;
  let env: Record<string, string> = {};
  beforeAll(async () => {
    mkdirSync(home);
    const data = join(folder, "checkout-data");
    mkdirSync(data);
    gateway = startGsv(data, ["dev", "--serve", "--json", "--port", "0"]);
    const [line] = await gateway.prints(/^\{.*\}$/m);
    const { ws, token } = JSON.parse(line);
    env = { GSV_URL: ws, GSV_TOKEN: token };
  });
  afterAll(async () => {
    gateway.child.kill("SIGTERM");
    await gateway.ended;
    killLeftovers();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });

  it("chats with the checkout's gateway, connects this machine as a node, and copies files", async () => {
    const workspace = join(folder, "lent");
    mkdirSync(workspace);
    writeFileSync(join(home, "note.txt"), "carried over");
    const args = ["node", "--id", "box", "--workspace", workspace, "--json"];
    const node = startGsv(home, args, env, program);
    await node.prints(/^\{.*\}$/m);
    expect((await run(["tools", "list", "--json"], env)).stdout).toContain("box__Bash");
    expect(await run(["cp", "note.txt", "box:"], env)).toMatchObject({ code: 0 });
    expect(readFileSync(join(workspace, "note.txt"), "utf8")).toBe("carried over");
    const answered = await run(["client", "run cat note.txt"], env);
    expect(answered).toMatchObject({ code: 0, stdout: expect.stringContaining("carried over") });
    node.child.kill("SIGTERM");
    expect(await node.ended).toBe(0);
  });

  it("runs its own gateway", async () => {
    const answered = await run(["dev"], {}, "run echo from one package\n");
    expect(answered).toMatchObject({ code: 0, stdout: expect.stringContaining("from one package") });
  });

  it("reports that gsv deploy needs the checkout", async () => {
    const { code, stderr } = await run(["deploy", "--yes"]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/`gsv deploy.*` builds the gateway from its sources.*clone the repository/);
  });
}
