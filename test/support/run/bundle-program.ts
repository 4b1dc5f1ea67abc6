import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { nodeBundle } from "../../../shared/build/node-bundle.mjs";
import { newFolder } from "./test-folders.ts";

const functionRuntime = fileURLToPath(
  new URL("../../aws/emulators/lambda/process-runtime.mjs", import.meta.url),
);

/**
 * Builds a program of the tests to plain JavaScript, for processes of its own: they start in a fraction of the time that
 * one takes which compiles the sources as it loads them. What starts functions' processes finds their runtime beside it.
 * @param url the program's source
 * @param outdir by default a folder that is removed behind the tests of the file
 * @returns the path of what node runs
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
