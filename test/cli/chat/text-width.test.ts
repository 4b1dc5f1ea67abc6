import { describe, expect, it } from "vitest";
import { prefixWithin, printable, textWidth, wrapLine } from "../../../cli/chat/text-width.ts";

describe("text in a terminal", () => {
  it("counts two columns for East Asian and emoji characters", () => {
    expect(textWidth("abc")).toBe(3);
    expect(textWidth("日本")).toBe(4);
    expect(textWidth("👍🏽 ok")).toBe(5);
    expect(textWidth("e\u0301")).toBe(1);
  });

  it("loses escape sequences and control characters, but not its line breaks", () => {
    expect(printable("\u001b[31mred\u001b[0m\r\nnext\u0007\u009b2J\ttab")).toBe("red\nnext    tab");
    expect(printable("\u001b]0;title\u0007after")).toBe("after");
  });

  it("breaks a line at blanks into rows, and keeps a rest that is shorter than a row", () => {
    expect(wrapLine("the quick brown fox jumps", 12)).toEqual({
      rows: ["the quick", "brown fox"],
      rest: "jumps",
    });
    expect(wrapLine("short", 12)).toEqual({ rows: [], rest: "short" });
  });

  it("breaks a word that is longer than a row", () => {
    const { rows, rest } = wrapLine("x".repeat(25), 11);
    expect(rows).toEqual(["x".repeat(10), "x".repeat(10)]);
    expect(rest).toBe("xxxxx");
  });

  it("never splits a character", () => {
    expect(prefixWithin("日本語", 3)).toBe("日");
    expect(prefixWithin("日", 1)).toBe("日");
  });
});
