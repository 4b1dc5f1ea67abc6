import { statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, relative } from "node:path";

/** The name of a local gateway's data folder. */
const folderName = ".gsv";

/**
 * The data folder of the local gateway for work in the folder `from`: `.gsv` in it or in the nearest folder above it, as
 * git finds a repository. Without one: `.gsv` in `from`, which may not exist. Another user's gateway is skipped: it
 * could read the conversations and run commands on a node of this machine.
 */
export function findDataFolder(from: string): string {
  for (let folder = from; ; folder = dirname(folder)) {
    const candidate = join(folder, folderName);
    if (ownerOf(candidate) === "self") return candidate;
    if (folder === dirname(folder)) return join(from, folderName);
  }
}

/** Whether a data folder holds another user's gateway. Always false on Windows. */
export function isForeign(dataFolder: string): boolean {
  return ownerOf(dataFolder) === "another";
}

/** A data folder's path for display: relative within the working directory, else absolute with `~` for the home folder. */
export function folderText(dataFolder: string, { cwd, env }: Place): string {
  const inside = relative(cwd, dataFolder);
  if (inside !== "" && !inside.startsWith("..")) return inside;
  return fullFolderText(dataFolder, { env });
}

/** A folder's absolute path, with `~` for the home folder. */
export function fullFolderText(folder: string, { env }: Pick<Place, "env">): string {
  const home = env.HOME || homedir();
  return folder === home || folder.startsWith(`${home}/`) ? `~${folder.slice(home.length)}` : folder;
}

/** Where a command runs. */
interface Place {
  cwd: string;
  env: Record<string, string | undefined>;
}

function ownerOf(dataFolder: string): "self" | "another" | undefined {
  const file = statSync(join(dataFolder, "gateway.json"), { throwIfNoEntry: false });
  if (!file?.isFile()) return undefined;
  const user = process.getuid?.();
  return user === undefined || file.uid === user ? "self" : "another";
}
