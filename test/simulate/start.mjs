/**
 * `npm run simulate`: bundles the simulation into one file, and runs that. In one file an `import()` takes no real time, which
 * virtual time would not wait for; through a loader it takes some milliseconds each.
 */
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("../..", import.meta.url));
const outfile = join(root, "dist", "simulate", "main.mjs");
await build({
  entryPoints: [join(root, "test", "simulate", "main.ts")],
  outfile,
  bundle: true,
  platform: "node",
  format: "esm",
  packages: "external",
  logLevel: "error",
});
await import(pathToFileURL(outfile).href);
