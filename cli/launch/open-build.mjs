// @ts-check
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildPlaces, ownMark, unfinishedPrefix } from "./build-places.mjs";
import { LaunchError } from "./launch-error.mjs";
import { sourceKey } from "./source-key.mjs";

/** @typedef {import("./build-places.mjs").BuildPlace} BuildPlace */

/**
 * Finds the build of the sources as they are now, or makes it. It is kept until this process has ended.
 * @param {string} root the project's folder, absolute
 * @param {{places?: BuildPlace[], onSlow?: () => void}} [options] `onSlow` is called once when a build takes longer than
 *   a moment
 * @returns {Promise<string>} the build's folder, which holds `main.mjs`
 * @throws {LaunchError}
 */
export async function openBuild(root, { places = buildPlaces(root), onSlow = () => undefined } = {}) {
  const key = sourceKey(root);
  const found = findBuild(places, key);
  if (found !== undefined) return found;
  const timer = setTimeout(onSlow, 300);
  try {
    return await makeBuild(root, places);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * @param {BuildPlace[]} places
 * @param {string} key
 */
function findBuild(places, key) {
  for (const { folder, isSafe } of places) {
    const build = join(folder, key);
    if (isComplete(build) && isSafe() && markUsed(build)) return build;
  }
  return undefined;
}

/**
 * Only a whole build ever has this name: it is made elsewhere and renamed.
 * @param {string} build
 */
function isComplete(build) {
  return existsSync(join(build, "main.mjs"));
}

/**
 * Leaves a file in the build while this process lives, because it loads chunks as late as it needs them.
 * @param {string} build
 * @returns {boolean} false when the build has been removed meanwhile
 */
function markUsed(build) {
  const mark = join(build, ownMark);
  try {
    writeFileSync(mark, "");
  } catch {
    // A build in a folder that cannot be written is not removed either.
    return isComplete(build);
  }
  process.once("exit", () => rmSync(mark, { force: true }));
  return true;
}

/**
 * @param {string} root
 * @param {BuildPlace[]} places
 */
async function makeBuild(root, places) {
  const { bundleSources } = await import("./bundle-sources.mjs");
  const { pruneBuilds } = await import("./prune-builds.mjs");
  // Sources that change while they are read belong to no key: then once more.
  for (let attempt = 0; attempt < 5; attempt++) {
    const { folder, unfinished } = makeUnfinished(places);
    try {
      const key = sourceKey(root);
      await bundleSources(root, unfinished);
      if (sourceKey(root) !== key) continue;
      const build = join(folder, key);
      publish(unfinished, build);
      if (!markUsed(build)) continue;
      pruneBuilds(folder);
      return build;
    } finally {
      rmSync(unfinished, { recursive: true, force: true });
    }
  }
  throw new LaunchError("the sources change while they are built; try again");
}

/**
 * Makes the folder of a new build in the first place that can be written.
 * @param {BuildPlace[]} places
 * @returns {{folder: string, unfinished: string}} the place, and the folder in it
 */
function makeUnfinished(places) {
  const reasons = [];
  for (const { folder, prepare } of places) {
    const unfinished = join(folder, `${unfinishedPrefix}${randomUUID()}`);
    try {
      prepare();
      mkdirSync(unfinished);
      return { folder, unfinished };
    } catch (error) {
      const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
      reasons.push(`${folder} (${code ?? message})`);
    }
  }
  throw new LaunchError(`cannot write a build to ${reasons.join(" or ")}; make one of them writable`);
}

/**
 * Gives a finished build its name, unless another process has been faster with the same one.
 * @param {string} unfinished
 * @param {string} build
 */
function publish(unfinished, build) {
  try {
    renameSync(unfinished, build);
  } catch (error) {
    if (!isComplete(build)) throw error;
  }
}
