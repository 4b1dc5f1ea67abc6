// @ts-check
import * as module from "node:module";

/**
 * Enables V8's compile cache in a folder, so that the next start is faster. Needs Node 22.1.
 * @param {string} folder
 */
export function keepCompiledCode(folder) {
  const { enableCompileCache } = /** @type {{enableCompileCache?: (folder: string) => unknown}} */ (module);
  enableCompileCache?.(folder);
}
