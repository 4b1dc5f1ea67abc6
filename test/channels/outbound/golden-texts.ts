/** Markdown as models write it, one construct each, by name. */
const constructs: Record<string, string> = {
  "a sentence": "Just a sentence, with a comma.",
  bold: "Some **bold words** here.",
  italic: "Some *italic words* and _more of them_ here.",
  "bold and italic": "***both*** and **bold with *italic* inside** and *italic with **bold** inside*",
  strike: "~~gone~~ and **~~bold and gone~~**",
  "bold in a word": "pre**mid**post and un*believ*able",
  "bold next to italic": "**a***b* and **a** *b* and *a***b**",
  "bold over two lines": "**one\ntwo** three",
  "bold with spaces": "** not bold ** and **bold** .",
  "inline code": "Run `npm ci` and then `npx vitest run`.",
  "code with backticks": "Write `` a`b `` and ``` `` ```.",
  "code in bold": "**see `x` here** and [`code`](https://example.com/code)",
  "code with marks": "`**kwargs` and `*args` and `snake_case_name` and `~/x`",
  fence: "Before:\n\n```ts\nconst a = `x`;\n\nif (a) {\n  run();\n}\n```\n\nAfter.",
  "fence without a language": "```\nplain\n  indented\n```",
  "fence in a fence": "~~~~md\n# A page\n\n```js\nlet x;\n```\n~~~~",
  "longer fence": "````\n```\ninner\n```\n````",
  "open fence": "```py\nprint(1)\nprint(2)",
  "indented code": "Look:\n\n    four spaces\n      six\n\nEnd.",
  "a list": "- one\n- two **bold**\n- three `code`",
  "a numbered list": "1. first\n2. second\n3. third",
  "a list that begins at 7": "7. seven\n8. eight",
  "nested lists": "- a\n  - b\n    1. c\n    2. d\n       - e\n  - f\n- g",
  "a loose list": "- one\n\n  more of one\n\n- two",
  tasks: "- [x] done\n- [ ] **open**",
  "code in a list": "1. Do this:\n   ```sh\n   ls -l\n   ```\n2. Then that.",
  "a quote": "> To be, or **not** to be,\n> that is the *question*.",
  "a quote in a quote": "> outer\n> > inner\n>\n> outer again",
  "code in a quote": "> Look:\n> ```\n> x = 1\n> ```\n> Done.",
  "a list in a quote": "> - a\n> - b\n>   - c",
  "a narrow table": "| Name | Age |\n|:--|--:|\n| Ann | 31 |\n| Bob | 7 |",
  "a wide table":
    "| Name of the person | What the person does all day long | Where the person lives |\n|-|-|-|\n| Ann | writes **code** | [Bern](https://example.com/bern) |\n| Bob | sleeps | Oslo |",
  "a table of emoji": "| 🙂 | 漢字 |\n|-|-|\n| 👩‍👩‍👧 | ab |",
  "a table without rows": "| a | b |\n|---|---|",
  headings: "# First *one*\n\ntext\n\n## Second\n\n#### Fourth `code`",
  "a line": "above\n\n---\n\nbelow",
  links:
    'See [the docs](https://example.com/a_b_(c)?x=1&y=2 "title") or https://example.com/x_y_z or <me@example.com>.',
  "links by reference":
    "See [this][r] and [that].\n\n[r]: https://example.com/r\n[that]: https://example.com/that",
  "other links": "[a file](docs/a.md), [an anchor](#top), [a script](javascript:alert(1)), [empty]()",
  images: "![a cat](https://example.com/cat.png) ![](https://example.com/x.png)",
  html: "<b>bold</b> and a<br>break &amp; an &lt;entity&gt;\n\n<div>\nblock\n</div>",
  "literal marks":
    "2 * 3 * 4, snake_case_name, __init__ \\*stars\\* \\_under\\_ \\`ticks\\` ~5 and ~6~, a|b, c < d > e",
  "things at a line's start": "\\# no heading\n\n\\- no list\n\n1\\. no number\n\n\\> no quote",
  mentions: "<!channel> <@U1> @everyone <#C1> <https://x.example|label> &amp; & &amp;amp;",
  "right to left": "שלום **עולם**, זה `קוד`.\n\n- مرحبا\n- **بالعالم** 123\n\n> اقتباس",
  "emoji families": "👩‍👩‍👧‍👦 **👨‍👩‍👧** 🇨🇭🇳🇴 👍🏽 é ñ 🏳️‍🌈",
  "other scripts": "これは**重要**です。次の文。 漢字かな交じり文 ไทย हिन्दी",
  "hard breaks": "one  \ntwo\\\nthree\nfour",
  footnotes: "A claim[^1] and $x^2$ and \\(y\\).\n\n[^1]: A note.",
  "a long word": `A ${"verylongword".repeat(20)} end.`,
};

const prose =
  "The quick brown fox jumps over the lazy dog. It does so every day! Does it really? Yes: 3.5 times. ";

/** Where a construct stands in a text. */
const places: Record<string, (markdown: string) => string> = {
  alone: (markdown) => markdown,
  "in an item": (markdown) => `- first\n- ${markdown.replaceAll("\n", "\n  ")}\n- last`,
  "between long paragraphs": (markdown) =>
    `${prose.repeat(19)}\n\n${markdown}\n\n${prose.repeat(25)}\n\n${markdown}`,
  "in 30,000 characters": (markdown) =>
    Array.from(
      { length: Math.ceil(30_000 / (markdown.length + 8)) },
      (_, index) => `No. ${index}:\n\n${markdown}`,
    )
      .join("\n\n")
      .slice(0, 30_000)
      .toWellFormed(),
};

/** 200 texts: every construct in every place. */
export const goldenTexts: readonly { name: string; place: string; markdown: string }[] = Object.entries(
  constructs,
).flatMap(([name, markdown]) =>
  Object.entries(places).map(([place, put]) => ({ name, place, markdown: put(markdown) })),
);
