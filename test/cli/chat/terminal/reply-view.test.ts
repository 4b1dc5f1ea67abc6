import { describe, expect, it } from "vitest";
import { type Layout, markdownLayout, plainLayout } from "../../../../cli/chat/terminal/markdown.ts";
import { ReplyView } from "../../../../cli/chat/terminal/reply-view.ts";
import { hostile } from "../../../security/inside/hostile-results.ts";
import { seededRandom } from "../../../support/random.ts";

const text = `# What I found

Two **files** in \`docs/\`, and a [link](https://example.org/a_b).
A second line of it, 日本語 🙂.

1. The first, which is long enough to be wrapped.
2. The second has \`code\`.

   \`\`\`sh
   npm ci && npm start
   \`\`\`

3. The third.
   - nested
   - twice

| file | what it holds |
|---|---|
| a.md | the beginning |

> a quote
> of two lines

\`\`\`ts
const x = 1;

run(x);
\`\`\`
* * *
The end`;

/** All rows of a text that arrives in parts, on a screen with `most` live rows. */
function rowsOf(layout: Layout, parts: readonly string[], most = 100): string[] {
  const view = new ReplyView(layout);
  let longest = 0;
  const rows = parts.flatMap((part) => {
    view.add(part);
    const { done, live } = view.flow(60, most);
    longest = Math.max(longest, live.length);
    return done;
  });
  expect(longest).toBeLessThanOrEqual(most);
  view.complete();
  return [...rows, ...view.flow(60, most).done];
}

const layouts: [string, Layout][] = [
  ["Markdown", markdownLayout()],
  ["plain text", plainLayout],
];

describe.each(layouts)("a reply laid out as %s", (_name, layout) => {
  it("has the same rows no matter how it is split into parts", () => {
    const whole = rowsOf(layout, [text]);
    const { integer } = seededRandom(7);
    for (let round = 0; round < 40; round++) {
      const parts: string[] = [];
      for (let start = 0; start < text.length; ) {
        const length = 1 + integer(1 + integer(30));
        parts.push(text.slice(start, start + length));
        start += length;
      }
      expect(rowsOf(layout, parts)).toEqual(whole);
    }
  });

  it("loses no line when it does not fit on the screen", () => {
    const lines = Array.from({ length: 50 }, (_, line) => `- line ${line}\n`);
    expect(rowsOf(layout, lines, 5)).toEqual(lines.map((line) => line.trimEnd()));
  });

  it("contains no control sequence except styles", () => {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters
    const unsafe = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\p{Bidi_Control}]/u;
    const shown = rowsOf(layout, [`${hostile} [x](<http://a/&#27;[2J>) &#x9b;2J \`${hostile}\``]).join("\n");
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are styles
    expect(shown.replace(/\u001b\[\d+m/g, "")).not.toMatch(unsafe);
  });
});
