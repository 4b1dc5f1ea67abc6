import picomatch from "picomatch";

/**
 * Compiles a glob to a RegExp for whole paths with `/` separators. `*` matches any characters of one name,
 * `?` one character, `**` any number of folders, `[a-z]` and `[!a-z]` one character of a set, `{a,b}`
 * alternatives (may be nested). `\` escapes the next character. Names that begin with a dot match like other
 * names.
 * @throws SyntaxError when a brace or a bracket is not closed.
 */
export function compileGlob(glob: string): RegExp {
  // picomatch treats ( ) | as regular expression syntax. Here they are plain characters, so they are escaped.
  const literal = glob.replace(/\\.|[()|]/g, (found) => (found.length > 1 ? found : `\\${found}`));
  return picomatch.makeRe(literal, {
    dot: true,
    nonegate: true,
    noextglob: true,
    posix: true,
    strictBrackets: true,
    strictSlashes: true,
  });
}

/** Whether the text contains glob syntax. */
export function hasGlobSyntax(text: string): boolean {
  return /[*?[\]{}\\]/.test(text);
}
