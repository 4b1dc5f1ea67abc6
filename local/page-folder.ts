import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundlePage } from "../shared/build/page-bundle.mjs";

/**
 * The folder with the console's page: that of the package, or, in a checkout, one that is built now.
 * @param built the folder to build in. Its previous content is deleted.
 * @throws esbuild's BuildFailure, or an Error of the file system
 */
export async function pageFolder(built: string): Promise<string> {
  // The package's code lies beside its page, or in a folder beside it.
  const places = ["page", "../page"].map((place) => fileURLToPath(new URL(place, import.meta.url)));
  const packaged = places.find((place) => existsSync(join(place, "index.html")));
  if (packaged !== undefined) return packaged;
  const root = fileURLToPath(new URL("..", import.meta.url));
  // Not an import, so that bundles of this file do not contain esbuild.
  await bundlePage(createRequire(import.meta.url)("esbuild"), root, built);
  return built;
}
