/** A piece of an expression. `name` is an attribute, function or keyword; `#…` and `:…` keep their first character. */
export interface Token {
  kind: "name" | "nameRef" | "valueRef" | "index" | "symbol";
  text: string;
}

/** The text is no expression. The message begins with a capital letter. */
export class SyntaxFault extends Error {}

const patterns: [Token["kind"], RegExp][] = [
  ["nameRef", /#[0-9A-Za-z_]+/y],
  ["valueRef", /:[0-9A-Za-z_]+/y],
  ["name", /[A-Za-z_][0-9A-Za-z_]*/y],
  ["index", /[0-9]+/y],
  ["symbol", /<>|<=|>=|[=<>(),.[\]+-]/y],
];

/** @throws SyntaxFault at a character that begins no token */
export function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  for (let at = 0; at < text.length; ) {
    if (/\s/.test(text.charAt(at))) {
      at += 1;
      continue;
    }
    const token = tokenAt(text, at);
    tokens.push(token);
    at += token.text.length;
  }
  return tokens;
}

function tokenAt(text: string, at: number): Token {
  for (const [kind, pattern] of patterns) {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0];
    if (found !== undefined) return { kind, text: found };
  }
  throw new SyntaxFault(`Syntax error; token: "${text.charAt(at)}", near: "${text.slice(at, at + 20)}"`);
}
