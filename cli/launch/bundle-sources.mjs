// @ts-check
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, relative, sep } from "node:path";
import { pathToFileURL } from "node:url";
import { nodeBundle } from "../../shared/build/node-bundle.mjs";
import { LaunchError } from "./launch-error.mjs";
import { leanCommander } from "./lean-commander.mjs";
import { sourceFolders } from "./source-key.mjs";

/**
 * Bundles the command line with all its imports: `main.mjs`, its chunks and their source maps. The code is
 * not minified, so that stack traces contain function names. `node --enable-source-maps` maps them to source
 * lines.
 * @param {string} root the project's folder, absolute
 * @param {string} folder the output folder; created when missing
 * @throws {LaunchError} when esbuild is not installed or the sources have an error, which esbuild has printed
 */
export async function bundleSources(root, folder) {
  const esbuild = await import("esbuild").catch(() => {
    throw new LaunchError("esbuild is not installed; run `npm ci` in the project's folder");
  });
  const { outputFiles, metafile } = await esbuild
    .build({
      ...nodeBundle,
      absWorkingDir: root,
      entryPoints: { main: "cli/app/main.ts" },
      outdir: folder,
      sourcemap: "linked",
      sourcesContent: false,
      plugins: [leanCommander, keepSourceLocations(root)],
      metafile: true,
      write: false,
      logLevel: "error",
    })
    .catch(() => {
      throw new LaunchError("the sources cannot be built");
    })
    .finally(() => esbuild.stop());
  checkInputs(Object.keys(metafile.inputs));
  // Flush before the build gets its final name, so that a power failure leaves a complete build or none.
  await Promise.all(
    outputFiles.map(async ({ path, contents }) => {
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, contents, { flush: true });
    }),
  );
}

/**
 * Checks that the source key covers every input. Otherwise an outdated build would be used after an input
 * changes.
 * @param {string[]} inputs paths relative to the project's folder
 */
function checkInputs(inputs) {
  const unkeyed = inputs.filter(
    (path) =>
      !sourceFolders.some((folder) => path.startsWith(`${folder}/`)) &&
      !/(^|[/:])node_modules\//.test(path) &&
      !path.startsWith("left out:") &&
      path !== "package.json",
  );
  if (unkeyed.length > 0)
    throw new LaunchError(
      `${unkeyed[0]} is outside of ${sourceFolders.join(", ")}; add its folder to cli/launch/source-key.mjs`,
    );
}

/**
 * Replaces `import.meta` paths by the paths of the source file. Sources use them to find package.json and the
 * files of worker threads.
 * @param {string} root
 * @returns {import("esbuild").Plugin}
 */
function keepSourceLocations(root) {
  return {
    name: "keep source locations",
    setup(build) {
      build.onLoad({ filter: /\.ts$/ }, async ({ path }) => {
        if (!sourceFolders.includes(relative(root, path).split(sep)[0] ?? "")) return undefined;
        const source = await readFile(path, "utf8");
        if (!source.includes("import.meta")) return undefined;
        const contents = source
          .replaceAll("import.meta.url", JSON.stringify(pathToFileURL(path).href))
          .replaceAll("import.meta.dirname", JSON.stringify(dirname(path)))
          .replaceAll("import.meta.filename", JSON.stringify(path));
        return { contents, loader: "ts", resolveDir: dirname(path) };
      });
    },
  };
}
