import { closeSync, fsyncSync, openSync } from "node:fs";

/** Syncs a folder, so that the names of new files survive a power failure. */
export function syncFolder(dir: string): void {
  const folder = openSync(dir, "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
