// @ts-check
import { lstatSync, mkdirSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";

/** Name prefix of folders that are being built or removed. */
export const unfinishedPrefix = "unfinished-";

/** Name of the marker file of a running process in its build: `used-by-{process id}@{host name}`. */
export const usedMark = /^used-by-(\d+)@(.*)$/;

/** Name of this process's marker file. */
export const ownMark = `used-by-${process.pid}@${hostname()}`;

/**
 * A folder that holds builds.
 * @typedef {object} BuildPlace
 * @property {string} folder
 * @property {() => void} prepare creates the folder; throws when that fails or when `isSafe` is false
 * @property {() => boolean} isSafe whether only the user and the owner of the sources can write there
 */

/**
 * The folders that may hold builds, in order of preference: `dist/cli` in the project, then a folder of the user
 * among the temporary files, for a read-only checkout.
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
 * Whether a folder belongs to the user and only the user has access. In a shared folder for temporary files,
 * another user may have created it first.
 * @param {string} folder
 */
function isPrivate(folder) {
  const stat = lstatSync(folder, { throwIfNoEntry: false });
  if (!stat?.isDirectory()) return false;
  // Windows has no user ids and modes, but its folder for temporary files is private to each user.
  const user = process.getuid?.();
  return user === undefined || (stat.uid === user && (stat.mode & 0o077) === 0);
}
