import { mkdir, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import * as esbuild from "esbuild";
import { nodeBundle } from "../shared/build/node-bundle.mjs";
import { bundlePage } from "../shared/build/page-bundle.mjs";
import { type FunctionName, functionNames } from "./permissions.ts";

/** Input and output paths of a bundle. */
export interface BundleTarget {
  /** The module that exports `handler`. */
  entry: string;
  /** Output folder for `handler.mjs` and its chunks. Its previous content is deleted. */
  outDir: string;
  /** Path of esbuild's metafile, which lists the inputs of each output. */
  metaFile: string;
}

export interface BundleSize {
  /** Bytes that are loaded at every cold start: the entry and what it imports statically. */
  entryBytes: number;
  /** Bytes of the whole bundle, including chunks that are loaded on demand. */
  totalBytes: number;
}

/**
 * Bundles one function with all its imports, including the AWS SDK. Each `import()` becomes a separate chunk,
 * so that a cold start loads only the code that every call needs.
 * @param logLevel of esbuild's output to standard error
 * @throws esbuild's BuildFailure
 */
export async function bundleFunction(
  { entry, outDir, metaFile }: BundleTarget,
  logLevel: esbuild.LogLevel = "warning",
): Promise<BundleSize> {
  await rm(outDir, { recursive: true, force: true });
  const { metafile } = await esbuild.build({
    ...nodeBundle,
    entryPoints: { handler: entry },
    outdir: outDir,
    minify: true,
    metafile: true,
    logLevel,
  });
  await mkdir(dirname(metaFile), { recursive: true });
  await writeFile(metaFile, JSON.stringify(metafile));
  return sizeOf(metafile);
}

function sizeOf({ outputs }: esbuild.Metafile): BundleSize {
  const names = Object.keys(outputs);
  const entry = names.find((name) => basename(name) === "handler.mjs");
  const loaded = new Set<string>();
  const load = (name: string | undefined) => {
    const output = name === undefined || loaded.has(name) ? undefined : outputs[name];
    if (name === undefined || output === undefined) return;
    loaded.add(name);
    for (const { path, kind } of output.imports) if (kind === "import-statement") load(path);
  };
  load(entry);
  const bytes = (of: Iterable<string>) => [...of].reduce((sum, name) => sum + (outputs[name]?.bytes ?? 0), 0);
  return { entryBytes: bytes(loaded), totalBytes: bytes(names) };
}

/**
 * Paths of a function's source under the project's root, and of its bundle.
 * @param out folder of all bundles
 */
export function bundleTarget(root: string, name: FunctionName, out = join(root, "dist")): BundleTarget {
  return {
    entry: join(root, "functions", name, "handler.ts"),
    outDir: join(out, "functions", name),
    metaFile: join(out, "meta", `${name}.json`),
  };
}

/**
 * Bundles the functions of the project, and the console's page into the bundle of the function that serves it.
 * @throws esbuild's BuildFailure
 */
export async function bundleFunctions(
  root: string,
  logLevel?: esbuild.LogLevel,
): Promise<[FunctionName, BundleSize][]> {
  const sizes: [FunctionName, BundleSize][] = [];
  for (const name of functionNames)
    sizes.push([name, await bundleFunction(bundleTarget(root, name), logLevel)]);
  await bundlePage(esbuild, root, join(bundleTarget(root, "page").outDir, "page"));
  return sizes;
}

async function main(): Promise<void> {
  const root = fileURLToPath(new URL("..", import.meta.url));
  const kilobytes = (bytes: number) => `${Math.ceil(bytes / 1024)} KB`;
  for (const [name, { entryBytes, totalBytes }] of await bundleFunctions(root))
    console.log(`${name}: entry ${kilobytes(entryBytes)}, total ${kilobytes(totalBytes)}`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  await main().catch((error: Error) => {
    // esbuild has already printed build errors.
    if (!("errors" in error)) console.error(error.message);
    process.exitCode = 1;
  });
}
