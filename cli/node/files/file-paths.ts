import { homedir } from "node:os";
import { isAbsolute, join, relative, resolve } from "node:path";

/** The absolute path a tool's `path` means: `~` is the home folder, relative paths start at the workspace. */
export function resolvePath(workspace: string, path: string): string {
  if (path === "~") return homedir();
  if (path.startsWith("~/")) return join(homedir(), path.slice(2));
  return resolve(workspace, path);
}

/** How results name a file: relative to the workspace when it is inside, so that every tool takes it as it is. */
export function displayPath(workspace: string, absolute: string): string {
  const path = relative(workspace, absolute);
  return path === "" || path === ".." || path.startsWith("../") || isAbsolute(path) ? absolute : path;
}
