import { stat } from "node:fs/promises";
import { basename } from "node:path";
import { createContext, Script } from "node:vm";
import * as v from "valibot";
import { displayPath, resolvePath } from "../files/file-paths.ts";
import { compileGlob } from "../files/glob-pattern.ts";
import { explainFaults, inspectFile, isBinary, lineBatches } from "../files/node-files.ts";
import { foldersToSkip, type WalkedFile, walkFiles } from "../files/walk.ts";
import { headOf, tailOf } from "../truncate.ts";
import { text } from "./arguments.ts";
import { nodeTool } from "./node-tool.ts";

const maxMatches = 100;
const maxContentChars = 200;
/** Only this many characters of a line are searched. */
const maxLineChars = 10_000;
/** Time limit of a search, ms. It then returns the matches so far. */
const searchMs = 30_000;

interface Match {
  path: string;
  line: number;
  content: string;
}

/** Searches text; docs/reference/protocol.md, "Tools", Grep. `truncated` is set when the search is incomplete. */
export const grepTool = nodeTool({
  name: "Grep",
  description:
    "Search text files of this machine by line with a JavaScript regular expression; (?i) at its beginning ignores " +
    "case. At most 100 matches. node_modules, .git and .gsv are omitted.",
  capability: "text.search",
  arguments: {
    pattern: text(),
    path: v.optional(text("File or folder. Default: the workspace")),
    include: v.optional(text("Glob of names (*.ts) or, with a /, of paths below path")),
  },
  async run(args, context) {
    const pattern = new LinePattern(args.pattern);
    const path = resolvePath(context.workspace, args.path ?? ".");
    const wanted = fileFilter(args.include);
    const deadline = Date.now() + searchMs;

    const matches: Match[] = [];
    const walk = await filesBelow(path);
    let step = await walk.next();
    for (; !step.done && matches.length <= maxMatches && Date.now() < deadline; step = await walk.next()) {
      if (!wanted(step.value)) continue;
      const name = displayPath(context.workspace, step.value.path);
      for await (const match of matchesIn(step.value.path, name, pattern, deadline)) {
        if (matches.push(match) > maxMatches) break;
      }
    }
    const complete =
      step.done === true && step.value && matches.length <= maxMatches && Date.now() < deadline;
    const shown = matches.slice(0, maxMatches);
    return { matches: shown, count: shown.length, ...(complete ? {} : { truncated: true }) };
  },
});

/** The files to search: all files below a folder, or one named file, which must be readable. */
async function filesBelow(path: string): Promise<AsyncGenerator<WalkedFile, boolean>> {
  const stats = await explainFaults("Grep", path, () => stat(path));
  if (stats.isDirectory()) return walkFiles(path, foldersToSkip(""));
  await inspectFile("Grep", path);
  return onlyFile(path);
}

async function* onlyFile(path: string): AsyncGenerator<WalkedFile, boolean> {
  yield { path, relative: basename(path) };
  return true;
}

function fileFilter(include: string | undefined): (file: WalkedFile) => boolean {
  if (include === undefined) return () => true;
  let glob: RegExp;
  try {
    glob = compileGlob(include.replace(/^\.\//, ""));
  } catch (error) {
    throw new Error(`Grep: invalid include: ${(error as Error).message}`);
  }
  return include.includes("/")
    ? (file) => glob.test(file.relative)
    : (file) => glob.test(basename(file.relative));
}

/** The matching lines of one file. Binary and unreadable files have none. */
async function* matchesIn(
  path: string,
  name: string,
  pattern: LinePattern,
  deadline: number,
): AsyncGenerator<Match> {
  let before = 0;
  const kind = await inspectFile("Grep", path).catch(() => undefined);
  if (kind === undefined || isBinary(kind.sample)) return;
  try {
    for await (const batch of lineBatches(path, maxLineChars)) {
      const lines = batch.map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line));
      for (const { index, column } of pattern.search(lines, name)) {
        yield { path: name, line: before + index + 1, content: excerpt(lines[index] ?? "", column) };
      }
      before += lines.length;
      if (Date.now() > deadline) return;
    }
  } catch (error) {
    // Skip a file that cannot be read. Rethrow the error of a pattern that takes too long.
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
  }
}

/** Cuts a line to at most 200 characters that include the beginning of the match. */
function excerpt(line: string, column: number): string {
  if (line.length <= maxContentChars) return line;
  const start = column < maxContentChars - 50 ? 0 : column - 50;
  const rest = tailOf(line, line.length - start);
  const room = maxContentChars - 2;
  return `${start > 0 ? "…" : ""}${headOf(rest, room)}${rest.length > room ? "…" : ""}`;
}

/**
 * Time limit of a pattern for one batch of lines, ms. Catastrophic backtracking would otherwise block the
 * node.
 */
const batchMs = 1000;

const searchScript = new Script(
  "lines.flatMap((line, index) => { const found = pattern.exec(line); return found ? [[index, found.index]] : []; })",
);

/** An untrusted regular expression that is matched against lines. Its running time is bounded. */
class LinePattern {
  readonly #scope: { pattern: RegExp; lines: string[] };

  /**
   * `(?i)` at the beginning of `source` ignores case.
   * @throws Error when it is not a JavaScript regular expression
   */
  constructor(source: string) {
    const ignoreCase = source.startsWith("(?i)");
    try {
      const pattern = new RegExp(ignoreCase ? source.slice(4) : source, ignoreCase ? "i" : "");
      this.#scope = createContext({ pattern, lines: [] }) as { pattern: RegExp; lines: string[] };
    } catch (error) {
      throw new Error(`Grep: pattern is not a regular expression: ${(error as Error).message}`);
    }
  }

  /**
   * Returns index and column of each match, both counted from 0.
   * @throws Error when it takes more than 1 second
   */
  search(lines: string[], file: string): { index: number; column: number }[] {
    try {
      // Only the timeout of node:vm can interrupt a running match.
      this.#scope.lines = lines;
      const found: [number, number][] = searchScript.runInContext(this.#scope, { timeout: batchMs });
      return Array.from(found, ([index, column]) => ({ index, column }));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error;
      throw new Error(`Grep: the pattern takes too long on ${file}; write it with less repetition`);
    }
  }
}
