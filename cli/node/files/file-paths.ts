import { homedir } from "node:os";
import { isAbsolute, join, relative, resolve } from "node:path";

/**
 * Resolves a tool's `path` to an absolute path. `~` is the home folder; relative paths are relative to the
 * workspace.
 */
export function resolvePath(workspace: string, path: string): string {
  if (path === "~") return homedir();
  if (path.startsWith("~/")) return join(homedir(), path.slice(2));
  return resolve(workspace, path);
}

/**
 * The path of a file in tool results: relative to the workspace when inside it, otherwise absolute. Every
 * tool accepts it.
 */
export function displayPath(workspace: string, absolute: string): string {
  const path = relative(workspace, absolute);
  return path === "" || path === ".." || path.startsWith("../") || isAbsolute(path) ? absolute : path;
}
