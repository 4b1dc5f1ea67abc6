import { declareValuePlugin, PluginKind } from "@stryker-mutator/api/plugin";

/** Mutates one in this many methods and declarations. */
const sample = Number(process.env.GSV_MUTATE_SAMPLE ?? 1);

/** @param {string} text @returns {number} FNV-1a, so that a sample is the same in each run */
const hash = (text) =>
  [...text].reduce((sum, one) => Math.imul(sum ^ (one.codePointAt(0) ?? 0), 16_777_619) >>> 0, 2_166_136_261);

/** Whether a syntax node is a method, or a declaration of a module that is no class. */
function isUnit({ node, parent }) {
  if (/^Class(Private)?Method$/.test(node.type)) return true;
  const isTop = parent?.type === "Program" || parent?.type.startsWith("Export");
  return isTop && !/^(Class|Export|Import)/.test(node.type);
}

/** Leaves out what is not in the sample, chosen by its text. */
export const strykerPlugins = [
  declareValuePlugin(PluginKind.Ignore, "sample", {
    shouldIgnore: (path) =>
      isUnit(path) && hash(path.toString().slice(0, 2_000)) % sample !== 0 ? "not in the sample" : undefined,
  }),
];
