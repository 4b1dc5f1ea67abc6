import { afterEach, describe, expect, it, vi } from "vitest";
import { drawable, prefixWithin, textWidth, wrapLine } from "../../cli/app/text-width.ts";
import { seededRandom } from "../support/random.ts";

describe("text in a terminal", () => {
  it("counts two columns for East Asian and emoji characters", () => {
    expect(textWidth("abc")).toBe(3);
    expect(textWidth("日本")).toBe(4);
    expect(textWidth("👍🏽 ok")).toBe(5);
    expect(textWidth("e\u0301")).toBe(1);
    for (const start of ["", "x", "xx"])
      expect(textWidth(start + "👍🏽".repeat(500))).toBe(1000 + start.length);
    expect(textWidth(`a${"\u0301".repeat(1000)}`)).toBeLessThan(10);
  });

  it("loses escape sequences and control characters, but not its line breaks", () => {
    expect(drawable("\u001b[31mred\u001b[0m\r\nnext\u0007\u009b2J\ttab")).toBe("red\nnext    tab");
    expect(drawable("\u001b]0;title\u0007after")).toBe("after");
  });

  it("splits a line at blanks into rows, and returns a rest that is shorter than a row", () => {
    expect(wrapLine("the quick brown fox jumps", 12)).toEqual({
      rows: ["the quick", "brown fox"],
      rest: "jumps",
    });
    expect(wrapLine("short", 12)).toEqual({ rows: [], rest: "short" });
  });

  it("splits a word that is longer than a row", () => {
    const { rows, rest } = wrapLine("x".repeat(25), 11);
    expect(rows).toEqual(["x".repeat(10), "x".repeat(10)]);
    expect(rest).toBe("xxxxx");
  });

  it("never splits a character", () => {
    expect(prefixWithin("日本語", 3)).toBe("日");
    expect(prefixWithin("日", 1)).toBe("日");
  });

  it("splits any line into full rows, losing only one blank per row", () => {
    const random = seededRandom(8);
    const wrong: object[] = [];
    for (let i = 0; i < 1000; i++) {
      const line = random.text(["a", "word", " ", "  ", "日本", "👍🏽", "e\u0301", "x".repeat(30)], 30);
      const columns = 20 + random.integer(10);
      const { rows, rest } = wrapLine(line, columns);
      for (const row of [...rows, rest]) if (textWidth(row) >= columns) wrong.push({ line, row, is: "long" });
      let left = line;
      for (const [n, row] of rows.entries()) {
        if (!left.startsWith(row)) wrong.push({ line, row, is: "no part of the line" });
        const after = left.slice(row.length);
        const next = [...rows, rest][n + 1] ?? "";
        left = after.startsWith(next) && !after.startsWith(` ${next}`) ? after : after.replace(/^ /, "");
        // A row ends where the next character or word does not fit.
        const word = after.startsWith(" ") ? ` ${after.slice(1).split(" ")[0]}` : prefixWithin(after, 1);
        if (textWidth(row + word) < columns - 1) wrong.push({ line, row, is: "not full" });
      }
      if (left !== rest) wrong.push({ line, rest, is: "not the rest" });
    }
    expect(wrong).toEqual([]);
  });

  describe("in a line of any length", () => {
    afterEach(() => vi.restoreAllMocks());

    it.each([
      ["words", "a few words "],
      ["one long word", "x"],
      ["wide characters", "日本"],
    ])("looks at each character a few times only: %s", (_name, piece) => {
      const segment = vi.spyOn(Intl.Segmenter.prototype, "segment");
      const line = piece.repeat(8000 / piece.length);
      wrapLine(line, 80);
      const looked = segment.mock.calls.map(([text]) => text.length);
      expect(looked.reduce((sum, length) => sum + length, 0)).toBeLessThanOrEqual(3 * line.length);
      // A step of the segmenter takes longer in a longer text.
      expect(Math.max(...looked)).toBeLessThanOrEqual(256);
    });
  });
});
