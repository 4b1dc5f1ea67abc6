import { execFileSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { bundleFunction, bundleTarget } from "../../infra/bundle.ts";
import { functionNames } from "../../infra/permissions.ts";
import { round } from "./figures.ts";

const rounds = 9;

/** Size of each function's bundle, and how much longer than an empty function it takes to import (median). */
export async function measureBundles(): Promise<
  Record<string, { entry_kb: number; total_kb: number; init_ms: number }>
> {
  const folder = await mkdtemp(join(tmpdir(), "gsv-bench-bundles-"));
  const empty = join(folder, "empty.mjs");
  await writeFile(empty, "export const handler = async () => {};\n");
  const result: Record<string, { entry_kb: number; total_kb: number; init_ms: number }> = {};
  for (const name of functionNames) {
    const { entry } = bundleTarget(process.cwd(), name);
    const outDir = join(folder, name);
    const size = await bundleFunction({ entry, outDir, metaFile: join(folder, `${name}.json`) });
    const own: number[] = [];
    for (let i = 0; i < rounds; i++) own.push(importMs(join(outDir, "handler.mjs")) - importMs(empty));
    own.sort((a, b) => a - b);
    result[name] = {
      entry_kb: Math.ceil(size.entryBytes / 1024),
      total_kb: Math.ceil(size.totalBytes / 1024),
      init_ms: round(own[Math.floor(rounds / 2)] ?? 0, 1),
    };
  }
  await rm(folder, { recursive: true, force: true });
  return result;
}

function importMs(file: string): number {
  const script = `const t = performance.now(); await import(${JSON.stringify(pathToFileURL(file).href)}); process.stdout.write(String(performance.now() - t)); process.exit(0)`;
  return Number(execFileSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" }));
}
