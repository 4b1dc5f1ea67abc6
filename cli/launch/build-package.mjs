// @ts-check
// Runs before `npm pack`: builds `cli/dist`, the packaged program with all its imports, and the console's page.
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";
import { licenses } from "../../shared/build/licenses.mjs";
import { nodeBundle } from "../../shared/build/node-bundle.mjs";
import { bundlePage } from "../../shared/build/page-bundle.mjs";
import { leanCommander } from "./lean-commander.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const folder = join(root, "cli", "dist");

await rm(folder, { recursive: true, force: true });
const { metafile } = await esbuild.build({
  ...nodeBundle,
  absWorkingDir: root,
  entryPoints: { launch: "cli/launch/launch-package.mjs" },
  outdir: folder,
  // Names are not minified, so that stack traces contain function names.
  minifyWhitespace: true,
  minifySyntax: true,
  plugins: [leanCommander],
  metafile: true,
  logLevel: "error",
});
const pageInputs = await bundlePage(esbuild, root, join(folder, "page"));
const inputs = [...Object.keys(metafile.inputs), ...pageInputs];
await writeFile(join(folder, "licenses.txt"), await licenses(root, inputs));
