import { execFile } from "node:child_process";
import { cp, mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { newFolder } from "../support/run/test-folders.ts";

const root = join(import.meta.dirname, "../..");
const run = promisify(execFile);

/** Builds the package of the construct from the current sources, in a clean copy of the project. @returns its file */
export async function packConstruct(): Promise<string> {
  const copy = newFolder();
  const sources = (path: string) => !path.startsWith(join(root, "infra", "dist")) && !path.endsWith(".tgz");
  await cp(join(root, "infra"), join(copy, "infra"), { recursive: true, filter: sources });
  const linked = ["functions", "shared", "web", "node_modules", "package.json", "tsconfig.json", "LICENSE"];
  await Promise.all(linked.map((name) => symlink(join(root, name), join(copy, name))));
  const { stdout } = await run("npm", ["pack", "--silent"], { cwd: join(copy, "infra") });
  return join(copy, "infra", stdout.trim());
}

/** Makes an empty CDK app, and installs the package in it. CDK is that of this project. @returns its folder */
export async function installConstruct(tarball: string): Promise<string> {
  const folder = newFolder();
  await writeFile(join(folder, "package.json"), "{}");
  const options = ["--offline", "--legacy-peer-deps", "--no-audit", "--no-fund"];
  await run("npm", ["install", ...options, tarball], { cwd: folder });
  await mkdir(join(folder, "node_modules", "@types"));
  for (const name of ["aws-cdk-lib", "constructs", "@types/node"])
    await symlink(join(root, "node_modules", name), join(folder, "node_modules", name));
  return folder;
}

/** Runs a program of an app as `cdk synth` does. @returns the folder of the templates */
export async function synthesizeApp(folder: string, program: string): Promise<string> {
  const out = join(folder, `out-${program}`);
  await run(process.execPath, [program], {
    cwd: folder,
    env: { PATH: process.env.PATH, CDK_OUTDIR: out, CDK_VALIDATION: "false" },
  });
  return out;
}

/** Synthesizes `examples/embedded` in an app. @returns the file of its template */
export async function exampleTemplate(folder: string): Promise<string> {
  await cp(join(root, "examples/embedded/app.js"), join(folder, "app.js"));
  return join(await synthesizeApp(folder, "app.js"), "Assistants.template.json");
}

/** Checks the types of a program of an app, also those of the package. @throws with the compiler's output */
export async function checkTypes(folder: string, program: string): Promise<void> {
  const compiler = join(root, "node_modules", "typescript", "bin", "tsc");
  const options = ["--noEmit", "--strict", "--module", "nodenext", "--types", "node"];
  await run(process.execPath, [compiler, ...options, program], { cwd: folder });
}
