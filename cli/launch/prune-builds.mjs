// @ts-check
import { randomUUID } from "node:crypto";
import { readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { unfinishedPrefix, usedMark } from "./build-places.mjs";

/**
 * Number of most recently used builds that are always kept, so that switching between branches needs no
 * rebuild.
 */
const kept = 3;
const hourMs = 3_600_000;
/** Processes of another host cannot be checked: their builds are kept for a day after the process started. */
const unseenMs = 24 * hourMs;

/**
 * Removes unused builds, except the most recently used ones, and the folders of interrupted builds. Errors
 * are ignored: the next build tries again.
 * @param {string} folder the folder that holds the builds
 */
export function pruneBuilds(folder) {
  try {
    const names = readdirSync(folder);
    for (const name of names.filter((name) => name.startsWith(unfinishedPrefix)))
      if (ageOf(join(folder, name)) > hourMs) rmSync(join(folder, name), { recursive: true, force: true });
    // A process creates a marker file in its build and removes it when it exits. Both update the folder's mtime.
    const builds = names
      .filter((name) => /^[0-9a-f]{32}$/.test(name))
      .map((name) => ({ path: join(folder, name), age: ageOf(join(folder, name)) }))
      .sort((one, other) => one.age - other.age);
    for (const { path } of builds.slice(kept)) if (!isUsed(path)) removeBuild(folder, path);
  } catch {
    // Another process prunes at the same time, or the folder is read-only.
  }
}

/** @param {string} build */
function isUsed(build) {
  return readdirSync(build).some((name) => {
    const [, pid, host] = usedMark.exec(name) ?? [];
    if (pid === undefined) return false;
    return host === hostname() ? isAlive(Number(pid)) : ageOf(join(build, name)) < unseenMs;
  });
}

/** @param {number} pid */
function isAlive(pid) {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === "EPERM";
  }
}

/**
 * Renames the build before deleting it, so that no process finds a partly deleted build.
 * @param {string} folder
 * @param {string} build
 */
function removeBuild(folder, build) {
  const removed = join(folder, `${unfinishedPrefix}${randomUUID()}`);
  renameSync(build, removed);
  rmSync(removed, { recursive: true, force: true });
}

/** @param {string} path @returns {number} milliseconds since the last change of the path */
function ageOf(path) {
  return Date.now() - statSync(path).mtimeMs;
}
