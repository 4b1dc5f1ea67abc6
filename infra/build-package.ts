// Runs before `npm pack`: builds `infra/dist`, the construct as CommonJS with its types, and the functions' bundles.
import { execFile } from "node:child_process";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import * as esbuild from "esbuild";
import { licenses } from "../shared/build/licenses.mjs";
import { bundlePage } from "../shared/build/page-bundle.mjs";
import { bundleFunction, bundleTarget } from "./bundle.ts";
import { functionNames } from "./permissions.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = join(root, "infra", "dist");

await rm(folder, { recursive: true, force: true });
const bundled: string[] = [];
for (const name of functionNames) {
  const target = bundleTarget(root, name, folder);
  await bundleFunction(target, "error");
  const { inputs } = JSON.parse(await readFile(target.metaFile, "utf8")) as esbuild.Metafile;
  bundled.push(...Object.keys(inputs).map((input) => relative(root, resolve(input))));
}
bundled.push(...(await bundlePage(esbuild, root, join(bundleTarget(root, "page", folder).outDir, "page"))));
await rm(join(folder, "meta"), { recursive: true });
await writeFile(join(folder, "licenses.txt"), await licenses(root, bundled));
await esbuild.build({
  entryPoints: { index: join(root, "infra", "agent-gateway.ts") },
  bundle: true,
  external: ["aws-cdk-lib", "constructs"],
  format: "cjs",
  platform: "node",
  target: "node20",
  // The bundles are in `dist` of the package, as they are in `dist` of the checkout.
  define: { "import.meta.dirname": "__dirname" },
  outdir: folder,
  logLevel: "error",
});
await writeFile(join(folder, "package.json"), '{ "type": "commonjs" }\n');
const compiler = join(root, "node_modules", "typescript", "bin", "tsc");
await promisify(execFile)(process.execPath, [compiler, "-p", join(root, "infra", "declarations.json")]);
