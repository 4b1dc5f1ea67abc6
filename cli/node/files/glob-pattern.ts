const special = /[.+^$()|\\{}[\]*?]/g;

/**
 * Compiles a glob into a RegExp for whole paths with `/` between names. `*` any characters of one name, `?` one of
 * them, `**` any number of folders, `[a-z]` and `[!a-z]` one character of a set, `{a,b}` alternatives (nested too),
 * `\` takes the next character as it is. Names that begin with a dot match like others.
 * @throws Error when a brace or a bracket is not closed.
 */
export function compileGlob(glob: string): RegExp {
  return new RegExp(`^(?:${expandBraces(glob).map(translate).join("|")})$`);
}

/** Whether the text holds anything a glob does not take literally. */
export function hasGlobSyntax(text: string): boolean {
  return /[*?[\]{}\\]/.test(text);
}

const mostAlternatives = 1000;

/** `a{b,c}` → `ab`, `ac`. A pair of braces without a comma is literal, as in shells. */
function expandBraces(glob: string): string[] {
  const open = indexOutside(glob, "{", 0);
  if (open < 0) return [glob];
  const { parts, end } = splitBraces(glob, open);
  const before = glob.slice(0, open);
  const rest = expandBraces(glob.slice(end + 1));
  const middles = parts.length === 1 ? [`\\{${parts[0]}\\}`] : parts;
  const all = middles
    .flatMap((part) => expandBraces(part))
    .flatMap((part) => rest.map((tail) => before + part + tail));
  if (all.length > mostAlternatives)
    throw new Error(`the pattern has more than ${mostAlternatives} alternatives`);
  return all;
}

function splitBraces(glob: string, open: number): { parts: string[]; end: number } {
  const parts: string[] = [];
  let depth = 0;
  let start = open + 1;
  for (let index = open; index < glob.length; index++) {
    const char = glob[index];
    if (char === "\\") index++;
    else if (char === "{") depth++;
    else if (char === "," && depth === 1) {
      parts.push(glob.slice(start, index));
      start = index + 1;
    } else if (char === "}" && --depth === 0) {
      parts.push(glob.slice(start, index));
      return { parts, end: index };
    }
  }
  throw new Error("a { is not closed");
}

/** The next `char` from `from` on that is not escaped. */
function indexOutside(glob: string, char: string, from: number): number {
  for (let index = from; index < glob.length; index++) {
    if (glob[index] === "\\") index++;
    else if (glob[index] === char) return index;
  }
  return -1;
}

/** One glob without alternatives as the source of a RegExp. */
function translate(glob: string): string {
  let source = "";
  let index = 0;
  while (index < glob.length) {
    const rest = glob.slice(index);
    const folders = /^(?:\*\*\/)+/.exec(rest);
    if (folders && (index === 0 || glob[index - 1] === "/")) {
      source += "(?:[^/]+/)*";
      index += folders[0].length;
    } else if (/^\/\*\*$/.test(rest) || (index === 0 && rest === "**")) {
      source += index === 0 ? ".+" : "/.+";
      index = glob.length;
    } else if (rest.startsWith("[")) {
      const end = setEnd(glob, index);
      source += translateSet(glob.slice(index + 1, end));
      index = end + 1;
    } else {
      const stars = /^\*+/.exec(rest);
      const escaped = rest.startsWith("\\") && rest.length > 1;
      const char = rest[escaped ? 1 : 0] ?? "";
      if (stars) source += "[^/]*";
      else source += !escaped && char === "?" ? "[^/]" : char.replace(special, "\\$&");
      index += stars ? stars[0].length : escaped ? 2 : 1;
    }
  }
  return source;
}

/** Where the set that opens at `start` closes; a `]` right at its beginning belongs to it. */
function setEnd(glob: string, start: number): number {
  const first = glob[start + 1] === "!" || glob[start + 1] === "^" ? start + 2 : start + 1;
  const end = glob.indexOf("]", first + 1);
  if (end < 0) throw new Error("a [ is not closed");
  return end;
}

function translateSet(set: string): string {
  const negated = set.startsWith("!") || set.startsWith("^");
  const chars = (negated ? set.slice(1) : set).replace(/[\\\]^[]/g, "\\$&");
  return negated ? `[^/${chars}]` : `(?!/)[${chars}]`;
}
