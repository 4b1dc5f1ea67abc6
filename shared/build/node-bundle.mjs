// @ts-check
// Plain JavaScript, because the launcher of the command line imports it before the build.

// Defines `require` for CommonJS packages inside of an ES module bundle.
const requireForCommonJs =
  'import { createRequire as createRequireForBundle } from "node:module"; ' +
  "const require = createRequireForBundle(import.meta.url);";

/**
 * esbuild's options for every bundle of this project: ES modules for the oldest supported Node, with all packages
 * inside. Each `import()` becomes a chunk of its own, which is loaded only when it is used.
 * @satisfies {import("esbuild").BuildOptions}
 */
export const nodeBundle = {
  bundle: true,
  splitting: true,
  format: /** @type {const} */ ("esm"),
  platform: /** @type {const} */ ("node"),
  target: "node20",
  mainFields: ["module", "main"],
  outExtension: { ".js": ".mjs" },
  chunkNames: "chunks/[name]-[hash]",
  banner: { js: requireForCommonJs },
  legalComments: /** @type {const} */ ("none"),
};
