import { languages } from "sugar-high/lang";
import { describe, expect, it } from "vitest";
import { colouredCode } from "../../web/chat/code-colours.tsx";
import { hostileTexts } from "./hostile-texts.ts";
import { drawn } from "./nodes.ts";

describe("colours of code", () => {
  const coloured = (text: string, language: string) => {
    const { elements, text: whole } = drawn(colouredCode(text, language));
    return { types: elements.map(({ type, props }) => `${type}.${props.class}`), whole };
  };

  it("mark words by what they are in the language", () => {
    const { types } = coloured('if (a === 1) f("x"); // why', "js");
    expect(types).toEqual(
      ["keyword", "value", "string", "string", "string", "comment"].map((one) => `span.${one}`),
    );
    expect(coloured("-old\n+new\n same", "diff").types).toEqual(["span.diff-remove", "span.diff-add"]);
    expect(coloured("for a in b:", "py").types).toEqual(["span.keyword", "span.keyword"]);
  });

  it("are unknown for other languages, and not computed for a text that may need long", () => {
    expect(colouredCode("let a", "brainfuck")).toBeUndefined();
    expect(colouredCode("let a", "")).toBeUndefined();
    expect(colouredCode("a".repeat(10_001), "js")).toBeUndefined();
    expect(colouredCode("a".repeat(10_000), "js")).toBeDefined();
  });

  it.each(languages.map(({ id }) => id))(
    "leave every character of %s where it is, and make spans alone",
    (id) => {
      for (const text of [...hostileTexts, "", "\n\n", "a\r\n\tb\n", "```\n`", '"open']) {
        const { types, whole } = coloured(text, id);
        expect(whole).toBe(text);
        expect(types.filter((type) => !type.startsWith("span."))).toEqual([]);
      }
    },
  );
});
