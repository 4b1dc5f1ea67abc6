// @ts-check
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";

/** Folders whose files a build may contain. Tests and the CDK app are excluded. */
export const sourceFolders = ["cli", "functions", "local", "shared"];

/**
 * Other files that affect a build. npm writes the last one. It lists the installed packages, which differ
 * from package-lock.json until `npm ci` has run.
 */
const otherFiles = ["package.json", "tsconfig.json", "package-lock.json", "node_modules/.package-lock.json"];

/**
 * The name of the build of the current sources: a hash of their contents, the installed packages, and the
 * project's path, which a build contains. It is computed at every start in about 10 ms; `path.join` for each
 * file would add 5 ms.
 * @param {string} root the project's folder, absolute
 * @returns {string} 32 hexadecimal digits
 */
export function sourceKey(root) {
  const hash = createHash("sha256").update(resolve(root));
  /** @param {string} path @param {Buffer} content */
  const add = (path, content) => hash.update(`\0${path}\0${content.length}\0`).update(content);
  /** @param {string} folder */
  const addFolder = (folder) => {
    for (const entry of readdirSync(`${root}/${folder}`, { withFileTypes: true })) {
      // Hidden files belong to editors and the file system; `npm pack` writes the others.
      if (entry.name.startsWith(".") || entry.name === "dist" || entry.name.endsWith(".tgz")) continue;
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory()) addFolder(path);
      else add(path, readFileSync(`${root}/${path}`));
    }
  };
  sourceFolders.forEach(addFolder);
  for (const path of otherFiles) {
    const content = readIfPresent(`${root}/${path}`);
    if (content !== undefined) add(path, content);
  }
  return hash.digest("hex").slice(0, 32);
}

/** @param {string} path */
function readIfPresent(path) {
  try {
    return readFileSync(path);
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === "ENOENT") return undefined;
    throw error;
  }
}
