import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliDecompressSync } from "node:zlib";

/** The functions' bundles of the previous release: the content of each file, by its path. */
export const releaseFile = fileURLToPath(new URL("./previous-release.json.br", import.meta.url));

/** Writes the previous release's bundles into a folder, as they were deployed. */
export function unpackRelease(folder: string): string {
  const text = brotliDecompressSync(readFileSync(releaseFile)).toString("utf8");
  for (const [path, content] of Object.entries(JSON.parse(text) as Record<string, string>)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  return folder;
}
