import {
  filePatternOf,
  folderOf,
  hasGlob,
  looksLikeFile,
  namesFolder,
  pathsOf,
  searchTermOf,
  unquote,
} from "./words.ts";

/** What the user wants. Paths and patterns are as the node tools take them; no path means where the node works. */
export type Wish =
  | { kind: "list"; pattern: string; path?: string }
  | { kind: "read"; paths: string[]; offset?: number; limit?: number }
  | { kind: "search"; term: string; pattern: string; path?: string; include?: string }
  | { kind: "run"; command: string; workdir?: string }
  | { kind: "remember"; fact: string }
  | { kind: "recall"; about?: string }
  | { kind: "nodes" }
  | { kind: "help" }
  | { kind: "unknown" };

/** Makes a wish of the parts of a sentence; undefined when they do not make sense as one. */
export type MakeWish = (...parts: (string | undefined)[]) => Wish | undefined;

/** “all”, a kind of files, a place. */
export function listWish(place = "", kind?: string, all = false): Wish | undefined {
  const bare = place
    .replace(/\s*\b(?:recursively|and (?:its |all )?(?:subfolders|subdirectories|below))$/i, "")
    .trim();
  const everywhere = all || bare !== place.trim() || /^(?:all|everything)$/i.test(bare);
  if (hasGlob(bare)) return namesFolder(bare) ? { kind: "list", pattern: unquote(bare) } : undefined;
  const pattern = filePatternOf(kind, everywhere);
  if (pattern === undefined || !namesFolder(bare)) return undefined;
  return { kind: "list", pattern, path: /^all$/i.test(bare) ? undefined : folderOf(bare) };
}

/** A file by its name, wherever it is. */
export function findWish(name = "", place?: string): Wish | undefined {
  const file = unquote(name);
  if (place !== undefined && !namesFolder(place)) return undefined;
  return { kind: "list", pattern: file.includes("/") ? file : `**/${file}`, path: folderOf(place) };
}

export function readWish(name = "", range: { offset?: number; limit?: number } = {}): Wish | undefined {
  const paths = pathsOf(name);
  return paths.length > 0 ? { kind: "read", paths, ...range } : undefined;
}

/** Lines `first` to `last`, counted from 1, both included. */
export function readLines(name = "", first = "1", last?: string): Wish | undefined {
  const offset = Math.max(0, Number(first) - 1);
  return readWish(name, { offset, ...(last && { limit: Math.max(1, Number(last) - offset) }) });
}

/** “show X”: a file when X looks like one, else a folder. */
export function showWish(name = ""): Wish | undefined {
  const paths = pathsOf(name);
  if (paths.length > 0 && paths.every(looksLikeFile)) return { kind: "read", paths };
  return listWish(name);
}

/** “X”, “X in a folder”, “"X" in *.ts files”. */
export function searchWish(phrase = ""): Wish | undefined {
  const inQuotes = phrase.match(
    /^("[^"]+"|'[^']+'|`[^`]+`|\/.+\/)(?:\s+(?:in|under|inside|within)\s+(.+))?$/i,
  );
  const split = inQuotes ?? phrase.match(/^(.+)\s+(?:in|under|inside|within)\s+(.+)$/i);
  const [, words = phrase, place] = split ?? [];
  const kind = place?.match(/^(?:the\s+|all\s+)?(\S+)\s+files$/i)?.[1];
  const include = kind && filePatternOf(kind)?.replace("**/", "");
  if (include) return { kind: "search", ...searchTermOf(words), include };
  if (place !== undefined && !namesFolder(place)) return { kind: "search", ...searchTermOf(phrase) };
  return { kind: "search", ...searchTermOf(words), path: folderOf(place) };
}

/** “search src for X”. */
export function searchInWish(place = "", words = ""): Wish | undefined {
  return namesFolder(place) ? { kind: "search", ...searchTermOf(words), path: folderOf(place) } : undefined;
}

/** A command in backticks or a code block is taken as it is; “in a folder” may follow it. */
export function runWish(phrase = ""): Wish | undefined {
  const block = phrase.match(/^```\w*\n([\s\S]+?)\n?```$/)?.[1];
  const ticked = phrase.match(/^`([^`]+)`(?:\s+in\s+(.+))?$/);
  const command = block ?? ticked?.[1] ?? unquote(phrase);
  const workdir = folderOf(ticked?.[2]);
  return command.trim() === "" ? undefined : { kind: "run", command: command.trim(), workdir };
}

export function rememberWish(fact = ""): Wish | undefined {
  return { kind: "remember", fact: fact.replaceAll(/\s+/g, " ").trim() };
}

export function recallWish(about?: string): Wish | undefined {
  const everything = /^(?:me|us|myself|everything|anything|it|that)$/i;
  return about === undefined || everything.test(about) ? { kind: "recall" } : { kind: "recall", about };
}
