import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { nodeBundle } from "../../../shared/build/node-bundle.mjs";
import { newFolder } from "./test-folders.ts";

const functionRuntime = fileURLToPath(
  new URL("../../aws/emulators/lambda/process-runtime.mjs", import.meta.url),
);

/**
 * Bundles a test program to JavaScript, for separate processes: these start much faster than ones that compile the
 * sources while loading them. The runtime of the functions' processes is put in the same folder.
 * @param url the program's source
 * @param outdir by default a folder that is removed after the file's tests
 * @returns the path of the program for node
 */
export async function bundleProgram(url: URL, outdir = newFolder()): Promise<string> {
  const source = fileURLToPath(url);
  const name = basename(source).replace(/\.\w+$/, "");
  await build({
    ...nodeBundle,
    entryPoints: { [name]: source, "process-runtime": functionRuntime },
    outdir,
    logLevel: "error",
  });
  return join(outdir, `${name}.mjs`);
}
