import { expect, it } from "vitest";
import { platformNames } from "../../support/platforms/platforms.ts";
import { seededRandom } from "../../support/random.ts";
import { bare, graphemesOf, messagesOf, plainText, shownOn } from "./shown.ts";

/** What models write, in pieces: marks that open and do not close, fences, scripts, and characters of many units. */
const pieces = [
  ...[
    "word",
    "two words ",
    "A sentence. ",
    "Really? ",
    "\n",
    "\n\n",
    " ",
    "  ",
    "\t",
    "1",
    "é",
    "漢字",
    "שלום ",
    "مرحبا ",
  ],
  ...[
    "*",
    "**",
    "_",
    "__",
    "~~",
    "`",
    "``",
    "```",
    "```js\n",
    "\n```\n",
    "~~~\n",
    "- ",
    "\n- ",
    "\n  - ",
    "\n1. ",
    "\n> ",
  ],
  ...[
    "# ",
    "\n## ",
    "|",
    "\n|a|b|\n|-|-|\n|c|d|\n",
    "---\n",
    "[x](https://example.com/a_b)",
    "![i](u)",
    "[",
    "](",
    ")",
  ],
  ...[
    "👩‍👩‍👧‍👦",
    "🇨🇭",
    "👍🏽",
    "e\u0301",
    "🙂",
    "&",
    "<",
    ">",
    "&amp;",
    "<b>",
    "\\",
    "https://example.com/x ",
    "@everyone",
    "<!channel>",
  ],
  ...["**bold** ", "*it* ", "`code` ", "~~gone~~ "],
];

/** Graphemes of many units, without a space between them. */
const joined = ["👩‍👩‍👧‍👦", "🇨🇭", "👍🏽", "e\u0301", "漢", "**x**", "`c`"];

/** The random texts, most of them short, some longer than several messages. */
const count = 10_000;

it.each(platformNames)(
  "%s accepts random texts, shows all of them, and no grapheme is cut",
  async (name) => {
    const random = seededRandom(33);
    const wrong: object[] = [];
    for (let index = 0; index < count && wrong.length < 5; index++) {
      const isJoined = index % 100 === 50;
      const markdown = random.text(isJoined ? joined : pieces, isJoined || index % 100 === 0 ? 1500 : 60);
      try {
        const parts = (await messagesOf(name, markdown)).map(shownOn[name]);
        const whole = await plainText(name, markdown);
        const cut = cutGrapheme(parts, new Set(graphemesOf(whole)));
        if (cut !== undefined) wrong.push({ markdown, cut });
        if (bare(whole) !== "" && parts.length === 0) wrong.push({ markdown, parts });
      } catch (error) {
        wrong.push({ markdown, error: String(error) });
      }
    }
    expect(wrong).toEqual([]);
  },
  240_000,
);

/** A grapheme at the edge of a part that the whole text does not have. */
function cutGrapheme(parts: readonly string[], known: ReadonlySet<string>): string | undefined {
  const edges = parts
    .slice(1)
    .flatMap((part, index) => [graphemesOf(parts[index] ?? "").at(-1), graphemesOf(part)[0]]);
  return edges.find((edge) => edge !== undefined && /\P{ASCII}/u.test(edge) && !known.has(edge));
}
