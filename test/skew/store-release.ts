/**
 * `npx tsx test/skew/store-release.ts [FOLDER]`: stores the functions' bundles of a release, which `npm run build` has
 * made, as the release that the next version is tested against.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";
import { releaseFile } from "./previous-release.ts";

const folder = process.argv[2] ?? "dist/functions";
const paths = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((path) =>
  path.endsWith(".mjs"),
);
const files = paths.sort().map((path) => [path, readFileSync(join(folder, path), "utf8")]);
const packed = brotliCompressSync(JSON.stringify(Object.fromEntries(files)), {
  // The functions share most of their code: let the window contain all of them.
  params: { [constants.BROTLI_PARAM_LGWIN]: 24, [constants.BROTLI_PARAM_QUALITY]: 11 },
});
writeFileSync(releaseFile, packed);
console.log(`${releaseFile}: ${files.length} files, ${Math.ceil(packed.length / 1024)} KB`);
