import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const folders: string[] = [];

/** A new empty folder, which is removed behind the tests of the file. */
export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "gsv-test-"));
  folders.push(folder);
  return folder;
}

/** Removes the folders of the tests that have ended. */
export function removeFolders(): void {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
