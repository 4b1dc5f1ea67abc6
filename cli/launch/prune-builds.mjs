// @ts-check
import { randomUUID } from "node:crypto";
import { readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { unfinishedPrefix, usedMark } from "./build-places.mjs";

/** Builds that are kept in any case, the last used ones: switching between branches builds nothing anew. */
const kept = 3;
const hourMs = 3_600_000;
/** A process of another container or machine cannot be seen here: its build is kept for a day after its start. */
const unseenMs = 24 * hourMs;

/**
 * Removes the builds that no process uses, but for the last used ones, and what interrupted builds have left. A failure
 * is ignored: the next build tries again.
 * @param {string} folder the place of the builds
 */
export function pruneBuilds(folder) {
  try {
    const names = readdirSync(folder);
    for (const name of names.filter((name) => name.startsWith(unfinishedPrefix)))
      if (ageOf(join(folder, name)) > hourMs) rmSync(join(folder, name), { recursive: true, force: true });
    // A process writes a mark into its build and removes it at its end: both make the build the youngest.
    const builds = names
      .filter((name) => /^[0-9a-f]{32}$/.test(name))
      .map((name) => ({ path: join(folder, name), age: ageOf(join(folder, name)) }))
      .sort((one, other) => one.age - other.age);
    for (const { path } of builds.slice(kept)) if (!isUsed(path)) removeBuild(folder, path);
  } catch {
    // Another process prunes at the same time, or the folder has become read-only.
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
 * Renamed first: a half removed build is not to be found.
 * @param {string} folder
 * @param {string} build
 */
function removeBuild(folder, build) {
  const removed = join(folder, `${unfinishedPrefix}${randomUUID()}`);
  renameSync(build, removed);
  rmSync(removed, { recursive: true, force: true });
}

/** @param {string} path @returns {number} milliseconds since its last change */
function ageOf(path) {
  return Date.now() - statSync(path).mtimeMs;
}
