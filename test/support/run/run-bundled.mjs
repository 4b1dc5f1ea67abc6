import { rename } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("../../..", import.meta.url));

/**
 * Bundles a test program into one file and runs it. In one file, an `import()` takes no real time. With a loader it takes
 * some milliseconds, for which virtual time would not wait.
 * @param {string} entry path from the root of the project, such as `test/simulate/main.ts`
 */
export async function runBundled(entry) {
  const outfile = join(root, "dist", basename(dirname(entry)), "main.mjs");
  // Another process may run the same program: the file is replaced whole.
  const written = `${outfile}.${process.pid}`;
  await build({
    entryPoints: [join(root, entry)],
    outfile: written,
    bundle: true,
    platform: "node",
    format: "esm",
    packages: "external",
    logLevel: "error",
  });
  await rename(written, outfile);
  await import(pathToFileURL(outfile).href);
}
