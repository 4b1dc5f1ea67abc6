// @ts-check
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildPlaces, ownMark, unfinishedPrefix } from "./build-places.mjs";
import { LaunchError } from "./launch-error.mjs";
import { sourceKey } from "./source-key.mjs";

/** @typedef {import("./build-places.mjs").BuildPlace} BuildPlace */

/**
 * Finds or creates the build of the current sources. It is not removed while this process runs.
 * @param {string} root the project's folder, absolute
 * @param {{places?: BuildPlace[], onSlow?: () => void}} [options] `onSlow` is called once when a build takes longer than
 *   300 ms
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
 * Whether a build exists. A folder of this name is always complete: builds are created under another name and
 * renamed.
 * @param {string} build
 */
function isComplete(build) {
  return existsSync(join(build, "main.mjs"));
}

/**
 * Creates a marker file that protects the build until this process exits. The process loads chunks on demand.
 * @param {string} build
 * @returns {boolean} false when the build has been removed meanwhile
 */
function markUsed(build) {
  const mark = join(build, ownMark);
  try {
    writeFileSync(mark, "");
  } catch {
    // A build in a read-only folder cannot be removed.
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
  // When the sources change during the build, the key does not match them: build again.
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
    } catch (error) {
      const { code } = /** @type {NodeJS.ErrnoException} */ (error);
      if (!["ENOSPC", "EDQUOT", "EFBIG"].includes(code ?? "")) throw error;
      throw new LaunchError(`cannot write a build to ${folder}: the disk is full`);
    } finally {
      rmSync(unfinished, { recursive: true, force: true });
    }
  }
  throw new LaunchError("the sources change while they are built; try again");
}

/**
 * Creates the folder of a new build in the first writable place.
 * @param {BuildPlace[]} places
 * @returns {{folder: string, unfinished: string}} the place's folder, and the new folder in it
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
 * Renames a finished build to its final name. Does nothing when another process has already published the
 * same build.
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
