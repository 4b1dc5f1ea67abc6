/** Reading names, folders and search terms out of plain English. */

/** Files people name without their extension. */
const wellKnown: Record<string, string> = {
  readme: "README.md",
  changelog: "CHANGELOG.md",
  contributing: "CONTRIBUTING.md",
  license: "LICENSE",
  licence: "LICENCE",
  makefile: "Makefile",
  dockerfile: "Dockerfile",
};

/** Extensions by the name of what is in such files. */
const extensions: Record<string, string> = {
  typescript: "ts",
  javascript: "js",
  python: "py",
  markdown: "md",
  text: "txt",
  rust: "rs",
  shell: "sh",
};

const quoted = /^(["'`])([\s\S]+)\1$/;

/** A text without the quotation marks or backticks around it. */
export function unquote(text: string): string {
  return text.trim().replace(quoted, "$2");
}

export function hasGlob(text: string): boolean {
  return /[*?{]|\[.+\]/.test(text);
}

/** Whether a word names a file rather than a folder: it has an extension, or is known without one. */
export function looksLikeFile(text: string): boolean {
  const name = unquote(text).split("/").at(-1) ?? "";
  return (
    /^[^*?]*[^.*?/]\.[A-Za-z0-9]{1,8}$|^\.[A-Za-z]\w*$/.test(name) ||
    Object.hasOwn(wellKnown, name.toLowerCase())
  );
}

/** The files named in a phrase: “the file a.md”, “a.md and b.md”, “"my notes"”; empty when it names none. */
export function pathsOf(phrase: string): string[] {
  const parts = phrase.split(/\s*,\s*(?:and\s+)?|\s+(?:and|&)\s+/);
  if (parts.length > 1 && parts.every((part) => looksLikeFile(part)))
    return parts.map((part) => onePath(part));
  const path = onePath(phrase);
  return path === "" || (/\s/.test(path) && !quoted.test(phrase.trim()) && !looksLikeFile(path))
    ? []
    : [path];
}

function onePath(phrase: string): string {
  const bare = phrase
    .trim()
    .replace(/^(?:the\s+)?(?:contents?|text)\s+of\s+/i, "")
    .replace(/^(?:the|my|our|this|that|your)\s+/i, "")
    .replace(/^(?:file|document)\s+/i, "")
    .replace(/\s+(?:file|document)$/i, "");
  const path = unquote(bare);
  return wellKnown[path.toLowerCase()] ?? path;
}

/** Words for the place where the node already is. */
const here =
  /^(?:here|there|everything|(?:current|working|whole|entire)?\s*(?:folder|directory|dir|workspace|project|repo|repository|code|codebase|machine|computer))$/i;

/** The folder a phrase names; undefined for the one the node works in. */
export function folderOf(phrase = ""): string | undefined {
  const bare = phrase.trim().replace(/^(?:the|this|that|my|our|your)\s+/i, "");
  if (bare === "" || bare === "." || here.test(bare)) return undefined;
  return unquote(
    bare.replace(/^(?:folder|directory|dir)\s+/i, "").replace(/\s+(?:folder|directory|dir)$/i, ""),
  );
}

/** Whether a phrase can be a folder: one word, something in quotation marks, or words for “here”. */
export function namesFolder(phrase: string): boolean {
  const folder = folderOf(phrase);
  return folder === undefined || quoted.test(phrase.trim()) || !/\s/.test(folder);
}

/** The glob for a kind of files: `*.md`, `markdown`, `ts`; undefined when the word is no kind. */
export function filePatternOf(kind: string | undefined, everywhere = false): string | undefined {
  const word = kind?.toLowerCase().replace(/^(?:the|my|all|any|some|other)$/, "") ?? "";
  if (word === "") return everywhere ? "**/*" : "*";
  if (word === "hidden") return ".*";
  if (kind && hasGlob(kind)) return kind;
  const extension = Object.hasOwn(extensions, word) ? extensions[word] : word.replace(/^\./, "");
  return extension && /^[a-z0-9]{1,5}$/.test(extension) ? `**/*.${extension}` : undefined;
}

/** What to search for: the words as they are, and the regular expression for them. `/…/` is one already. */
export function searchTermOf(phrase: string): { term: string; pattern: string } {
  const expression = phrase.trim().match(/^\/(.+)\/$/)?.[1];
  if (expression) return { term: expression, pattern: expression };
  const bare = phrase
    .trim()
    .replace(/^(?:all|any|every)\s+/i, "")
    .replace(/^(?:the\s+)?(?:usages?|uses?|mentions?|occurrences?|references?)\s+(?:of|to)\s+/i, "")
    .replace(/^(?:the\s+)?(?:word|text|string|phrase|function|class|variable|type|constant)\s+(?=\S)/i, "");
  const term = unquote(bare);
  return { term, pattern: term.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&") };
}
