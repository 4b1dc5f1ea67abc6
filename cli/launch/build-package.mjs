// @ts-check
// Runs before `npm pack`: builds `cli/dist`, the packaged program with all its imports, and the console's page.
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";
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
await writeFile(join(folder, "licenses.txt"), await licenses(inputs));

/**
 * The licences of this project and of the bundled packages, which must accompany every copy.
 * @param {string[]} inputs paths of the bundled files, relative to the project's folder
 */
async function licenses(inputs) {
  const found = inputs.map((path) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? ".");
  const texts = [...new Set(found)].sort().map(async (path) => {
    const { name, version, license } = JSON.parse(await readFile(join(root, path, "package.json"), "utf8"));
    const files = (await readdir(join(root, path))).filter((file) => /^(licen[cs]e|notice)/i.test(file));
    const read = files.map((file) => readFile(join(root, path, file), "utf8"));
    return [`${name} ${version} (${license})`, ...(await Promise.all(read))].join("\n\n");
  });
  return `${(await Promise.all(texts)).join(`\n\n${"=".repeat(80)}\n\n`)}\n`;
}
