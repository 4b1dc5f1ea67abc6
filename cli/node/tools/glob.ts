import { stat } from "node:fs/promises";
import * as v from "valibot";
import { displayPath, resolvePath } from "../files/file-paths.ts";
import { compileGlob, hasGlobSyntax } from "../files/glob-pattern.ts";
import { explainFaults } from "../files/node-files.ts";
import { foldersToSkip, walkFiles } from "../files/walk.ts";
import { text } from "./arguments.ts";
import { nodeTool } from "./node-tool.ts";

const maxMatches = 1000;
/** Number of files whose modification times are read concurrently. */
const statBatch = 64;

/** Finds files by name; docs/reference/protocol.md, "Tools", Glob. `count` includes matches that are not listed. */
export const globTool = nodeTool({
  name: "Glob",
  description:
    "Find files of this machine by name, at most 1,000, newest first. Supports * ? ** {a,b} [a-z]; **/*.ts is every " +
    "folder below. node_modules, .git and .gsv are omitted unless the pattern names them.",
  capability: "filesystem.list",
  arguments: {
    pattern: text("Such as src/**/*.{ts,tsx} or ~/notes/*.md"),
    path: v.optional(text("Default: the workspace")),
  },
  async run(args, context) {
    const { pattern } = args;
    const start = resolvePath(context.workspace, args.path ?? ".");
    const { folder, rest } = splitPattern(pattern);
    const basePath = resolvePath(start, folder);
    const matcher = compile(rest);
    const stats = await explainFaults("Glob", basePath, () => stat(basePath));
    if (!stats.isDirectory()) throw new Error(`Glob: ${basePath} is not a folder`);

    const depth = rest.includes("**") ? undefined : rest.split("/").length;
    const walk = walkFiles(basePath, foldersToSkip(pattern), depth);
    const found: string[] = [];
    let step = await walk.next();
    for (; !step.done; step = await walk.next()) {
      if (matcher.test(step.value.relative)) found.push(step.value.path);
    }
    const matches = (await newestFirst(found)).slice(0, maxMatches);
    return {
      pattern,
      basePath,
      matches: matches.map((path) => displayPath(context.workspace, path)),
      count: found.length,
      ...(step.value && found.length <= maxMatches ? {} : { truncated: true }),
    };
  },
});

/** Splits a pattern into its leading literal folders (also `..` and absolute ones) and the remaining glob. */
function splitPattern(pattern: string): { folder: string; rest: string } {
  const names = pattern.split("/");
  const first = names.findIndex((name, index) => hasGlobSyntax(name) || index === names.length - 1);
  return {
    folder: names.slice(0, first).join("/") || (first > 0 ? "/" : "."),
    rest: names.slice(first).join("/"),
  };
}

function compile(glob: string): RegExp {
  try {
    return compileGlob(glob);
  } catch (error) {
    throw new Error(`Glob: invalid pattern: ${(error as Error).message}`);
  }
}

async function newestFirst(paths: string[]): Promise<string[]> {
  const files: { path: string; time: number }[] = [];
  for (let start = 0; start < paths.length; start += statBatch) {
    const batch = paths.slice(start, start + statBatch);
    files.push(...(await Promise.all(batch.map(async (path) => ({ path, time: await modifiedAt(path) })))));
  }
  files.sort((a, b) => b.time - a.time || (a.path < b.path ? -1 : 1));
  return files.map((file) => file.path);
}

/** Modification time in epoch ms. A file that was deleted meanwhile counts as the oldest. */
async function modifiedAt(path: string): Promise<number> {
  try {
    return (await stat(path)).mtimeMs;
  } catch {
    return 0;
  }
}
