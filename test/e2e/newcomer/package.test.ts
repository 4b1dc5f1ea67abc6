import { execFileSync, spawnSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { builtinModules } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type GsvProcess, killLeftovers, runGsv, startGsv } from "../../cli/gsv-process.ts";

const megabyte = 1024 * 1024;
const folder = mkdtempSync(join(tmpdir(), "gsv-package-"));
const home = join(folder, "home");
const installed = join(folder, "global/lib/node_modules/gsv-cli");
const program = join(folder, "global/bin/gsv");
let tarball = "";

const npm = (args: string[], cwd: string) =>
  execFileSync("npm", [...args, "--offline", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd,
    encoding: "utf8",
  });
const filesOf = (dir: string) =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

beforeAll(() => {
  mkdirSync(home);
  // A copy: `npm pack` of another test file writes to `cli/dist` at the same time.
  const clone = join(folder, "clone");
  cpSync("cli", join(clone, "cli"), { recursive: true, filter: (path) => path !== "cli/dist" });
  for (const name of ["functions", "local", "node_modules", "shared", "package.json", "LICENSE"])
    symlinkSync(join(process.cwd(), name), join(clone, name));
  npm(["pack", "--pack-destination", folder], join(clone, "cli"));
  tarball = join(folder, readdirSync(folder).find((name) => name.endsWith(".tgz")) ?? "");
  npm(["install", "--global", "--prefix", join(folder, "global"), tarball], folder);
});
afterAll(() => {
  killLeftovers();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

const run = (args: string[], env: Record<string, string> = {}, input = "") =>
  runGsv(home, args, { env, input, program });

describe("the package of the command line", () => {
  it("takes at most 3 MB to send and 10 MB on the disk", () => {
    expect(statSync(tarball).size).toBeLessThan(3 * megabyte);
    const sizes = filesOf(installed).map((file) => statSync(file).size);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(10 * megabyte);
  });

  it("needs no other package, and knows nothing of the folder where it was made", async () => {
    const manifest = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
    expect(Object.keys(manifest).filter((key) => /dependencies/i.test(key))).toEqual([]);
    expect(readdirSync(join(installed, ".."))).toEqual(["gsv-cli"]);
    const { metafile } = await build({
      entryPoints: [join(installed, "dist/launch.mjs")],
      bundle: true,
      platform: "node",
      format: "esm",
      packages: "external",
      metafile: true,
      write: false,
      outdir: folder,
    });
    const imported = Object.values(metafile.inputs)
      .flatMap(({ imports }) => imports)
      .filter(({ external }) => external)
      .map(({ path }) => path);
    expect(imported.length).toBeGreaterThan(50);
    const known = new Set([...builtinModules, ...builtinModules.map((name) => `node:${name}`)]);
    // Tried for a proxy that asks for it, and reported when it is not installed.
    const optional = ["kerberos"];
    expect(imported.filter((name) => !known.has(name))).toEqual(optional);
    // A path below the root: comments of bundled packages have relative ones.
    const quoted = new RegExp(`["'\`](file://)?${process.cwd()}`);
    const knowing = filesOf(installed).filter((file) => quoted.test(readFileSync(file, "utf8")));
    expect(knowing).toEqual([]);
  });

  it("cannot be published by mistake, and has the version of the gateway in this checkout", () => {
    const manifest = (file: string) => JSON.parse(readFileSync(file, "utf8"));
    expect(manifest("cli/package.json")).toMatchObject({
      private: true,
      version: manifest("package.json").version,
    });
    expect(manifest("package.json").private).toBe(true);
  });

  it("shows its help without loading what talks to a gateway or starts a process", () => {
    const help = spawnSync(process.execPath, ["--import", tellModules, program, "--help"], {
      encoding: "utf8",
    });
    expect(help).toMatchObject({ status: 0, stdout: expect.stringContaining("Usage: gsv") });
    const loaded = help.stderr.trim().split(",");
    expect(loaded).toContain("NativeModule path");
    const slow = ["child_process", "crypto", "http", "https", "tls", "zlib"];
    expect(slow.filter((name) => loaded.includes(`NativeModule ${name}`))).toEqual([]);
  });

  it("comes with the licences of what is in it", () => {
    const licenses = readFileSync(join(installed, "dist/licenses.txt"), "utf8");
    for (const name of ["gsv", "commander", "@anthropic-ai/sdk"])
      expect(licenses).toMatch(new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ \\(MIT\\)\n\n.*MIT`, "ms"));
  });
});

/** Prints the built-in modules of Node that a process has loaded to standard error, at its end. */
const tellModules =
  "data:text/javascript,process.on('exit',()=>console.error(process.moduleLoadList.filter((name)=>/^NativeModule/.test(name)).join()))";

describe("an installation of the package alone, in an empty home", () => {
  let gateway: GsvProcess;
  let env: Record<string, string> = {};
  beforeAll(async () => {
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
  });

  it("chats with a gateway of the checkout, lends it this machine, and copies files", async () => {
    const workspace = join(folder, "lent");
    mkdirSync(workspace);
    writeFileSync(join(home, "note.txt"), "carried over");
    const node = startGsv(home, ["node", "--id", "box", "--workspace", workspace], env, program);
    await expect
      .poll(async () => (await run(["tools", "list", "--json"], env)).stdout)
      .toContain("box__Bash");
    expect(await run(["cp", "note.txt", "box:"], env)).toMatchObject({ code: 0 });
    expect(readFileSync(join(workspace, "note.txt"), "utf8")).toBe("carried over");
    const answered = await run(["client", "run cat note.txt"], env);
    expect(answered).toMatchObject({ code: 0, stdout: expect.stringContaining("carried over") });
    node.child.kill("SIGTERM");
    expect(await node.ended).toBe(0);
  });

  it("is a gateway of its own", async () => {
    const answered = await run(["dev"], {}, "run echo from one package\n");
    expect(answered).toMatchObject({ code: 0, stdout: expect.stringContaining("from one package") });
  });

  it("says that data of an early version needs the checkout", async () => {
    mkdirSync(join(home, "early/dynamodb"), { recursive: true });
    const { code, stderr } = await run(["dev", "--data", "early"]);
    expect(code).toBe(1);
    expect(stderr).toContain(
      "early/dynamodb was written by an early version, which only a checkout can read",
    );
    rmSync(join(home, "early"), { recursive: true });
  });

  it.each([[["deploy", "--yes"]], [["deploy", "destroy", "--yes"]]])(
    "says that gsv %j needs the checkout",
    async (args) => {
      const { code, stderr } = await run(args);
      expect(code).toBe(1);
      expect(stderr).toMatch(/`gsv deploy.*` builds the gateway from its sources.*clone the repository/);
    },
  );
});
