import { type ParsedLine, parse, type TokenType } from "sugar-high/core";
import { lang, languages } from "sugar-high/lang";

/** A parser may need quadratic time for a hostile text: 0.3 s for one of this length. */
const maxCharacters = 10_000;

/** Classes of the tokens that have a colour. */
const classes: Partial<Record<TokenType, string>> = {
  keyword: "keyword",
  string: "string",
  comment: "comment",
  class: "value",
  property: "name",
  entity: "name",
};

/** A piece of code. `name`: the class of its colour. */
export interface CodePiece {
  text: string;
  name?: string;
}

/** Code in pieces by their colours, the text unchanged; undefined for an unknown language and for a long text. */
export function codePieces(text: string, language: string): CodePiece[] | undefined {
  const id = lang(language);
  const known = languages.find((one) => one.id === id);
  if (!known || text.length > maxCharacters) return undefined;
  return parse(text, known.config).lines.flatMap(linePieces);
}

function linePieces({ index, value, tokens, annotations }: ParsedLine): CodePiece[] {
  const end = index === 0 ? [] : [{ text: "\n" }];
  const changed = annotations.find((one) => one === "diff-add" || one === "diff-remove");
  if (changed) return [...end, { text: value, name: changed }];
  return [...end, ...tokens.map(({ type, value: text }) => ({ text, name: classes[type] }))];
}
