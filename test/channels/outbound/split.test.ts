import { describe, expect, it } from "vitest";
import { splitText } from "../../../shared/channels/outbound/split.ts";
import { seededRandom } from "../../support/random.ts";

describe("splitting a text", () => {
  it("does not change a text that fits, including its indentation", () => {
    expect(splitText("  a\n\n  b", 10)).toEqual(["  a\n\n  b"]);
    expect(splitText("0123456789", 10)).toEqual(["0123456789"]);
  });

  it("cuts between paragraphs first, then lines, then words", () => {
    expect(splitText("one two\nthree\n\nfour five six", 16)).toEqual(["one two\nthree", "four five six"]);
    expect(splitText("one two\nthree four five six", 16)).toEqual(["one two", "three four five", "six"]);
    expect(splitText("one two three four five", 9)).toEqual(["one two", "three", "four five"]);
  });

  it("cuts at a border right after the maximum length", () => {
    expect(splitText("12345 6789", 5)).toEqual(["12345", "6789"]);
    expect(splitText("12345\n\n6789", 5)).toEqual(["12345", "6789"]);
  });

  it("cuts a word that is too long, but never inside a surrogate pair", () => {
    expect(splitText("abcdefgh", 3)).toEqual(["abc", "def", "gh"]);
    expect(splitText("a😀😀😀", 4)).toEqual(["a😀", "😀😀"]);
  });

  it("keeps the indentation of a line at the start of a part", () => {
    expect(splitText("def f():\n\n    return 1", 13)).toEqual(["def f():", "    return 1"]);
  });

  it("has no parts for white space only", () => {
    expect(splitText("", 5)).toEqual([]);
    expect(splitText(" \n\t ".repeat(20), 5)).toEqual([]);
  });

  it("loses only white space at the borders, and every part fits", () => {
    const random = seededRandom(7);
    const pieces = [
      "a",
      "word",
      "😀",
      "👩‍👩‍👧",
      " ",
      "  ",
      "\n",
      "\n\n",
      " \n \n",
      "\t",
      "longerword",
      "é",
      "\r\n",
      "。",
    ];
    const wrong: object[] = [];
    for (let round = 0; round < 3000; round++) {
      const text = random.text(pieces, 60);
      const limit = 2 + random.integer(30);
      const parts = splitText(text, limit);
      let at = 0;
      for (const part of parts) {
        const found = text.indexOf(part, at);
        const isPart = part.length <= limit && part.trim() !== "" && part.isWellFormed();
        const isNext = found >= at && text.slice(at, found).trim() === "";
        if (!isPart || !isNext) wrong.push({ text, limit, part });
        at = found + part.length;
      }
      if (text.slice(at).trim() !== "") wrong.push({ text, limit, left: text.slice(at) });
    }
    expect(wrong).toEqual([]);
  });

  it("splits a long text fast", () => {
    const text = "word ".repeat(200_000);
    const parts = splitText(text, 4096);
    expect(parts.join(" ")).toBe(text.trimEnd());
  });
});
