// @ts-check

/**
 * Leaves `node:child_process` out of commander, which needs it only for subcommands that are separate programs. This
 * project has none, and loading the module would take a tenth of the time of `gsv --help`.
 * @type {import("esbuild").Plugin}
 */
export const leanCommander = {
  name: "commander without child processes",
  setup(build) {
    const namespace = "left out";
    build.onResolve({ filter: /^node:child_process$/ }, ({ importer, path }) =>
      /[\\/]node_modules[\\/]commander[\\/]/.test(importer) ? { path, namespace } : undefined,
    );
    build.onLoad({ filter: /.*/, namespace }, () => ({ contents: "module.exports = {};" }));
  },
};
