import { expect, it } from "vitest";
import { printable } from "../../cli/app/printable.ts";
import { hiddenCharacters, showHidden } from "../../shared/runtime/hidden-characters.ts";

it.each([
  ["a tag", "a\u{e0072}b", "a⟨U+E0072⟩b"],
  ["a text direction", "rm \u202etxt\u202c", "rm ⟨U+202E⟩txt⟨U+202C⟩"],
  ["a zero-width space", "pass\u200bword", "pass⟨U+200B⟩word"],
  ["an escape sequence", "\u001b[8mcurl\u001b[0m", "⟨U+001B⟩[8mcurl⟨U+001B⟩[0m"],
  ["a carriage return that overwrites the line", "rm -rf ~\rls", "rm -rf ~⟨U+000D⟩ls"],
  ["a line separator", "a\u2028b", "a⟨U+2028⟩b"],
  ["variation selectors that encode text", "😀\ufe0f\u{e0112}\ufe01", "😀\ufe0f⟨U+E0112⟩⟨U+FE01⟩"],
  ["fillers", "a\u3164b\u115fc\u2800", "a⟨U+3164⟩b⟨U+115F⟩c⟨U+2800⟩"],
  ["half of a surrogate pair", "a\ud83d", "a⟨U+D83D⟩"],
  ["a joiner outside of an emoji", "a\u200db", "a⟨U+200D⟩b"],
])("%s is shown", (_, text, shown) => {
  expect(showHidden(text)).toBe(shown);
  expect(hiddenCharacters(text)).toEqual(shown.match(/⟨U\+[0-9A-F]+⟩/g));
});

it.each(["tab\tand\r\nline break\n", "⚠️ 👩‍💻 👨🏽‍🚀 1️⃣ ❤️‍🔥", "naïve 日本語 فارسی"])(
  "an ordinary text is unchanged: %j",
  (text) => {
    expect(showHidden(text)).toBe(text);
    expect(hiddenCharacters(text)).toEqual([]);
  },
);

it("a terminal strips no character of a shown text", () => {
  const all = Array.from({ length: 0x11_0000 }, (_, point) => String.fromCodePoint(point));
  const stripped = all.filter((one) => one !== "\r" && printable(showHidden(one)) !== showHidden(one));
  expect(stripped).toEqual([]);
});
