import { statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, relative } from "node:path";

/** The name of a local gateway's data folder. */
const folderName = ".gsv";

/**
 * The data folder of the local gateway for work in the folder `from`: `.gsv` in it or in the nearest folder above it, as
 * git finds a repository. Without one: `.gsv` in `from`, which may not exist. A gateway of another user is passed over:
 * it would read what is said, and could have a node of this machine run commands.
 */
export function findDataFolder(from: string): string {
  for (let folder = from; ; folder = dirname(folder)) {
    const candidate = join(folder, folderName);
    if (ownerOf(candidate) === "self") return candidate;
    if (folder === dirname(folder)) return join(from, folderName);
  }
}

/** Whether a data folder holds the gateway of another user of this machine. Windows does not tell. */
export function isForeign(dataFolder: string): boolean {
  return ownerOf(dataFolder) === "another";
}

/** A data folder as people read it: relative in the working directory, else absolute with `~` for the home folder. */
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
