import picomatch from "picomatch";

/**
 * Compiles a glob into a RegExp for whole paths with `/` between names. `*` any characters of one name, `?` one of
 * them, `**` any number of folders, `[a-z]` and `[!a-z]` one character of a set, `{a,b}` alternatives (nested too),
 * `\` takes the next character as it is. Names that begin with a dot match like others.
 * @throws SyntaxError when a brace or a bracket is not closed.
 */
export function compileGlob(glob: string): RegExp {
  // picomatch reads ( ) | as a regular expression does. In the path of a file they are plain characters.
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

/** Whether the text holds anything a glob does not take literally. */
export function hasGlobSyntax(text: string): boolean {
  return /[*?[\]{}\\]/.test(text);
}
