import type { Dirent } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";

/**
 * Folders that are skipped unless the pattern names them: dependencies, Git data, and the secrets of local
 * mode.
 */
const skippedFolders = ["node_modules", ".git", ".gsv"];
/** Maximum number of files and folders visited in one walk. */
const maxEntries = 200_000;

export interface WalkedFile {
  /** Absolute path. */
  path: string;
  /** Path relative to the start folder, with `/` separators. */
  relative: string;
}

/** The skipped folders of a search for `pattern`: all default ones that the pattern does not name. */
export function foldersToSkip(pattern: string): string[] {
  return skippedFolders.filter((name) => !pattern.split("/").includes(name));
}

/**
 * The files at most `depth` levels below a folder, sorted by name, a folder's files before its subfolders. Links to
 * files count as files. Links to folders are not followed, because they may form cycles. Unreadable folders are
 * skipped. Returns true when the walk is complete, false when it stopped after 200,000 entries.
 */
export async function* walkFiles(
  base: string,
  skip: string[],
  depth = Number.POSITIVE_INFINITY,
): AsyncGenerator<WalkedFile, boolean> {
  const folders = [""];
  let entries = 0;
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const subfolders: string[] = [];
    for (const entry of await entriesOf(join(base, folder))) {
      if (++entries > maxEntries) return false;
      const relative = folder === "" ? entry.name : `${folder}/${entry.name}`;
      const path = join(base, relative);
      if (entry.isDirectory()) {
        if (!skip.includes(entry.name) && relative.split("/").length < depth) subfolders.push(relative);
      } else if (entry.isFile() || (entry.isSymbolicLink() && (await leadsToFile(path)))) {
        yield { path, relative };
      }
    }
    folders.push(...subfolders.reverse());
  }
  return true;
}

async function entriesOf(folder: string): Promise<Dirent[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch {
    return [];
  }
}

async function leadsToFile(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}
