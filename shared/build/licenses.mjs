// @ts-check
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/**
 * The licences of this project and of the bundled packages, which must accompany every copy.
 * @param {string} root the project's folder
 * @param {string[]} inputs paths of the bundled files, relative to `root`
 */
export async function licenses(root, inputs) {
  const found = inputs.map((path) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? ".");
  const texts = [...new Set(found)].sort().map(async (path) => {
    const { name, version, license } = JSON.parse(await readFile(join(root, path, "package.json"), "utf8"));
    const files = (await readdir(join(root, path))).filter((file) => /^(licen[cs]e|notice)/i.test(file));
    const read = files.map((file) => readFile(join(root, path, file), "utf8"));
    return [`${name} ${version} (${license})`, ...(await Promise.all(read))].join("\n\n");
  });
  return `${(await Promise.all(texts)).join(`\n\n${"=".repeat(80)}\n\n`)}\n`;
}
