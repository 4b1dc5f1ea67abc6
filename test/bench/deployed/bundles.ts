import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { type BundleSize, bundleFunction, bundleTarget } from "../../../infra/bundle.ts";
import { type FunctionName, functionNames } from "../../../infra/permissions.ts";
import { unreachableEnvironment } from "../../support/unreachable-environment.ts";
import { round } from "../figures.ts";
import { makeFolder } from "../processes/children.ts";

const rounds = 9;

/** The functions' bundles as deployed, built from the current sources. */
export interface Bundles {
  folder: string;
  sizes: Map<FunctionName, BundleSize>;
}

/** Path of a function's bundle in the folder of all bundles. */
export const bundleIn = (folder: string, name: string) => join(folder, name, "handler.mjs");

export async function buildBundles(): Promise<Bundles> {
  const folder = makeFolder("bundles");
  const root = fileURLToPath(new URL("../../..", import.meta.url));
  const build = async (name: FunctionName) => {
    const { entry } = bundleTarget(root, name);
    const metaFile = join(folder, "meta", `${name}.json`);
    return [name, await bundleFunction({ entry, outDir: join(folder, name), metaFile })] as const;
  };
  return { folder, sizes: new Map(await Promise.all(functionNames.map(build))) };
}

/** The size of each function's bundle, and its import time beyond an empty function's (median, ms). */
export function measureBundles({ folder, sizes }: Bundles) {
  const empty = join(folder, "empty.mjs");
  writeFileSync(empty, "export const handler = async () => {};\n");
  const measured = [...sizes].map(([name, size]) => {
    const own: number[] = [];
    for (let i = 0; i < rounds; i++) own.push(importMs(bundleIn(folder, name)) - importMs(empty));
    own.sort((a, b) => a - b);
    const kilobytes = (bytes: number) => Math.ceil(bytes / 1024);
    const init_ms = round(own[Math.floor(rounds / 2)] ?? 0, 1);
    return [
      name,
      { entry_kb: kilobytes(size.entryBytes), total_kb: kilobytes(size.totalBytes), init_ms },
    ] as const;
  });
  return Object.fromEntries(measured);
}

function importMs(file: string): number {
  // What Lambda's runtime offers to a function that streams its response.
  const runtime = "globalThis.awslambda = { streamifyResponse: (handler) => handler };";
  const script = `${runtime} const t = performance.now(); await import(${JSON.stringify(pathToFileURL(file).href)}); process.stdout.write(String(performance.now() - t)); process.exit(0)`;
  const args = ["--input-type=module", "-e", script];
  return Number(execFileSync(process.execPath, args, { encoding: "utf8", env: unreachableEnvironment }));
}
