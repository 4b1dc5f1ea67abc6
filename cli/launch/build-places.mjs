// @ts-check
import { lstatSync, mkdirSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";

/** Begins the name of a folder that is no build: one that is being made or removed. */
export const unfinishedPrefix = "unfinished-";

/** The name of the file that a process leaves in the build that it runs: `used-by-{process id}@{host name}`. */
export const usedMark = /^used-by-(\d+)@(.*)$/;

/** Of this process. */
export const ownMark = `used-by-${process.pid}@${hostname()}`;

/**
 * A folder that holds builds.
 * @typedef {object} BuildPlace
 * @property {string} folder
 * @property {() => void} prepare makes the folder; throws when it cannot, or when `isSafe` is false
 * @property {() => boolean} isSafe whether only the user and the owner of the sources can write there
 */

/**
 * Where builds are looked for and made, the best place first: beside the sources, else in the user's own folder among
 * the temporary ones, for a checkout that the user cannot write to.
 * @param {string} root the project's folder
 * @param {string} temporary the folder of temporary files, which all users share
 * @returns {BuildPlace[]}
 */
export function buildPlaces(root, temporary = tmpdir()) {
  const beside = join(root, "dist", "cli");
  const own = join(temporary, `gsv-${process.getuid?.() ?? "cli"}`);
  return [
    { folder: beside, prepare: () => void mkdirSync(beside, { recursive: true }), isSafe: () => true },
    { folder: own, prepare: () => makePrivate(own), isSafe: () => isPrivate(own) },
  ];
}

/** @param {string} folder */
function makePrivate(folder) {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== "EEXIST") throw error;
  }
  if (!isPrivate(folder)) throw new Error("another user can write there");
}

/**
 * Whether a folder is the user's and nobody else gets at it: in a folder that all users share, another user may have
 * made it first.
 * @param {string} folder
 */
function isPrivate(folder) {
  const stat = lstatSync(folder, { throwIfNoEntry: false });
  if (!stat?.isDirectory()) return false;
  // Windows has no such ids and modes, and a folder of temporary files for each user.
  const user = process.getuid?.();
  return user === undefined || (stat.uid === user && (stat.mode & 0o077) === 0);
}
