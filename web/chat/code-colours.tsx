import type { VNode } from "preact";
import { type ParsedLine, type ParsedToken, parse, type TokenType } from "sugar-high/core";
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

/** Code as nodes with colours, the text unchanged; undefined for an unknown language and for a long text. */
export function colouredCode(text: string, language: string): VNode | undefined {
  const id = lang(language);
  const known = languages.find((one) => one.id === id);
  if (!known || text.length > maxCharacters) return undefined;
  return <>{parse(text, known.config).lines.flatMap(lineNodes)}</>;
}

function lineNodes({ index, value, tokens, annotations }: ParsedLine): (VNode | string)[] {
  const end = index === 0 ? [] : ["\n"];
  const changed = annotations.find((one) => one === "diff-add" || one === "diff-remove");
  if (changed) return [...end, <span class={changed}>{value}</span>];
  return [...end, ...tokens.map(tokenNode)];
}

function tokenNode({ type, value }: ParsedToken): VNode | string {
  const name = classes[type];
  return name === undefined ? value : <span class={name}>{value}</span>;
}
