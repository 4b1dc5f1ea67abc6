import { languages } from "sugar-high/lang";
import { describe, expect, it } from "vitest";
import { codePieces } from "../../web/chat/code-colours.ts";
import { hostileTexts } from "./hostile-texts.ts";

describe("colours of code", () => {
  const coloured = (text: string, language: string) => {
    const pieces = codePieces(text, language) ?? [];
    return {
      names: pieces.flatMap(({ name }) => name ?? []),
      whole: pieces.map((piece) => piece.text).join(""),
    };
  };

  it("mark words by what they are in the language", () => {
    const { names } = coloured('if (a === 1) f("x"); // why', "js");
    expect(names).toEqual(["keyword", "value", "string", "string", "string", "comment"]);
    expect(coloured("-old\n+new\n same", "diff").names).toEqual(["diff-remove", "diff-add"]);
    expect(coloured("for a in b:", "py").names).toEqual(["keyword", "keyword"]);
  });

  it("are unknown for other languages, and not computed for a text that may need long", () => {
    expect(codePieces("let a", "brainfuck")).toBeUndefined();
    expect(codePieces("let a", "")).toBeUndefined();
    expect(codePieces("a".repeat(10_001), "js")).toBeUndefined();
    expect(codePieces("a".repeat(10_000), "js")).toBeDefined();
  });

  it.each(languages.map(({ id }) => id))("leave every character of %s where it is", (id) => {
    for (const text of [...hostileTexts, "", "\n\n", "a\r\n\tb\n", "```\n`", '"open'])
      expect(coloured(text, id).whole).toBe(text);
  });
});
