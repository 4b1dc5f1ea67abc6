import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const folders: string[] = [];

/** Creates an empty folder that is removed after the file's tests. */
export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "gsv-test-"));
  folders.push(folder);
  return folder;
}

/** Removes the folders of finished tests. */
export function removeFolders(): void {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
