import { describe, expect, it } from "vitest";
import { densestPlace, partAround } from "../../shared/recall/preview.ts";
import { termsOf } from "../../shared/recall/words.ts";

const digits = "0123456789";

describe("a preview", () => {
  it("of the beginning marks what is missing, and counts characters, not UTF-16 units", () => {
    expect(partAround(digits, 0, 10)).toEqual({ text: digits, truncated: false });
    expect(partAround(digits, 0, 4)).toEqual({ text: "0123…", truncated: true });
    expect(partAround("🦊🦊🦊", 0, 3)).toEqual({ text: "🦊🦊🦊", truncated: false });
    expect(partAround("🦊🦊🦊", 0, 2)).toEqual({ text: "🦊🦊…", truncated: true });
  });

  it.each([
    [0, "0123…"],
    [5, "…4567…"],
    [9, "…6789"],
  ])("around place %i begins a quarter of its length before it, within the text", (place, text) => {
    expect(partAround(digits, place, 4)).toEqual({ text, truncated: true });
  });

  it("around a place is a text that fits", () => {
    expect(partAround(digits, 5, 10)).toEqual({ text: digits, truncated: false });
  });

  it("begins where the most different terms are near one another", () => {
    const terms = new Set(["harbor", "lantern", "violet"].flatMap(termsOf));
    const filler = "and so on ".repeat(20);
    const text = `harbor harbor harbor ${filler}lantern ${filler}a violet harbor ${filler}the violet harbor`;
    expect(densestPlace(text, terms, 80)).toBe(text.indexOf("violet"));
    expect(densestPlace("nothing here ".repeat(20), terms, 80)).toBe(0);
    expect(densestPlace("a lantern", terms, 80)).toBe(0);
  });
});
