import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type BundleSize, type BundleTarget, bundleFunction } from "../../infra/bundle.ts";

const bigText = "x".repeat(50_000);
const sources: Record<string, string> = {
  "handler.ts": `
    import { greeting } from "./greeting.ts";
    import common from "./common.cjs";
    export const handler = async (event: { rare?: boolean }): Promise<string> =>
      event.rare ? (await import("./rare.ts")).text : \`\${greeting} \${common.separator}\`;`,
  "greeting.ts": 'export const greeting: string = "hello";',
  "common.cjs": 'exports.separator = require("node:path").sep;',
  "rare.ts": `export const text = "${bigText}";`,
};

let folder: string;
let target: BundleTarget;
let size: BundleSize;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "gsv-bundle-"));
  for (const [name, source] of Object.entries(sources)) await writeFile(join(folder, name), source);
  target = {
    entry: join(folder, "handler.ts"),
    outDir: join(folder, "dist", "functions", "echo"),
    metaFile: join(folder, "dist", "meta", "echo.json"),
  };
  await mkdir(target.outDir, { recursive: true });
  await writeFile(join(target.outDir, "left-over.mjs"), "");
  size = await bundleFunction(target);
});

afterAll(() => rm(folder, { recursive: true, force: true }));

test("the bundle is a module without dependencies, including CommonJS packages", async () => {
  const bundle = await import(pathToFileURL(join(target.outDir, "handler.mjs")).href);
  expect(await bundle.handler({})).toBe("hello /");
  expect(await bundle.handler({ rare: true })).toBe(bigText);
});

test("a module that is imported on demand is a chunk that a cold start does not load", async () => {
  expect(await readdir(join(target.outDir, "chunks"))).toContainEqual(
    expect.stringMatching(/^rare-.*\.mjs$/),
  );
  expect(size.entryBytes).toBeLessThan(5_000);
  expect(size.totalBytes).toBeGreaterThan(50_000);
});

test("the sizes are those of the files", async () => {
  const files = await readdir(target.outDir, { recursive: true, withFileTypes: true });
  const bytes = files
    .filter((file) => file.isFile())
    .map(async (file) => (await readFile(join(file.parentPath, file.name))).length);
  expect(size.totalBytes).toBe((await Promise.all(bytes)).reduce((sum, length) => sum + length, 0));
});

test("an earlier build is deleted", async () => {
  expect(await readdir(target.outDir)).not.toContain("left-over.mjs");
});

test("the metafile lists the bundle's inputs", async () => {
  const { outputs } = JSON.parse(await readFile(target.metaFile, "utf8"));
  const inputs = Object.values(outputs as Record<string, { inputs: object }>).flatMap((output) =>
    Object.keys(output.inputs),
  );
  expect(inputs).toContainEqual(expect.stringContaining("greeting.ts"));
});

test("a missing entry is an error that names it", async () => {
  const missing = { ...target, entry: join(folder, "missing.ts"), outDir: join(folder, "dist", "none") };
  await expect(bundleFunction(missing, "silent")).rejects.toThrow("missing.ts");
});
