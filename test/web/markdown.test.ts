import { lexer, type Token } from "marked";
import { describe, expect, it } from "vitest";
import { GrowingText } from "../../web/chat/growing-text.ts";
import { markdown } from "../../web/chat/markdown.tsx";
import { hostileTexts } from "./hostile-texts.ts";
import { drawn } from "./nodes.ts";

const allowed = [
  ...["p", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "input", "blockquote", "pre", "hr", "br"],
  ...["div", "table", "thead", "tbody", "tr", "th", "td", "strong", "em", "del", "code", "a"],
];

describe("markdown", () => {
  it("becomes elements", () => {
    const text =
      "# Title\n\nA **bold** `code` [link](https://a.example/b).\n\n1. one\n2. two\n\n```js\nlet a;\n```\n";
    const { elements, text: words } = drawn(markdown(text));
    expect(elements.map(({ type }) => type)).toEqual([
      "h2",
      "p",
      "strong",
      "code",
      "a",
      "ol",
      "li",
      "li",
      "pre",
    ]);
    expect(elements.find(({ type }) => type === "a")?.props).toMatchObject({
      href: "https://a.example/b",
      rel: "noopener noreferrer",
      target: "_blank",
    });
    expect(words).toContain("let a;");
  });

  it("keeps tasks, tables and escaped characters", () => {
    const text = "- [x] done\n- [ ] open\n\n| a | b |\n|:--|--:|\n| 1 &lt; 2 | \\*x\\* |\n";
    const { elements, text: words } = drawn(markdown(text));
    const boxes = elements.filter(({ type }) => type === "input").map(({ props }) => props.checked);
    expect(boxes).toEqual([true, false]);
    expect(elements.filter(({ type }) => type === "td").map(({ props }) => props.class)).toEqual([
      "align-left",
      "align-right",
    ]);
    expect(words).toContain("1 < 2");
    expect(words).toContain("*x*");
  });

  it("makes of 500 hostile texts only harmless elements, with links to web and mail addresses", () => {
    expect(hostileTexts.length).toBe(500);
    for (const text of hostileTexts) {
      const { elements } = drawn(markdown(text));
      expect(elements.filter(({ type }) => !allowed.includes(type))).toEqual([]);
      for (const { type, props } of elements) {
        expect(Object.keys(props).filter((name) => /^on|src|style|dangerously/i.test(name))).toEqual([]);
        if (type === "a") expect(props.href).toMatch(/^(https?:\/\/|mailto:)/);
      }
    }
  });

  it("shows HTML and images as words", () => {
    const { elements, text } = drawn(markdown("<b>x</b> ![cat](https://a.example/cat.png)"));
    expect(text).toContain("<b>x</b>");
    expect(text).toContain("image: cat");
    expect(elements.map(({ type }) => type)).toEqual(["p", "a"]);
  });
});

describe("text that is still arriving", () => {
  const whole = [
    "Intro *here*.\n\n- one\n- two\n\n  more of two\n\n- three\n\n",
    "```ts\nconst a = 1;\n\nconst b = 2;\n```\n\nTitle\n===\n\n",
    "| a | b |\n|---|---|\n| 1 | 2 |\n\n> quoted\nlazy\n\n1. x\n   1. y\n\nThe **end**.\n",
  ].join("");
  const raws = (text: string) => lexer(text).map(({ raw }) => raw);
  const rawsOf = (parts: readonly Token[][]) => parts.flat().map(({ raw }) => raw);

  it.each([1, 3, 7, 50])(
    "gives the blocks of the whole text, however it arrives (%i characters a time)",
    (size) => {
      const growing = new GrowingText();
      let blocks: string[] = [];
      for (let end = size; end < whole.length + size; end += size)
        blocks = rawsOf(growing.parts(whole.slice(0, end)));
      expect(blocks).toEqual(raws(whole));
    },
  );

  it("does not parse closed blocks again", () => {
    const growing = new GrowingText();
    const [[first] = []] = growing.parts("one\n\ntwo");
    expect(growing.parts("one\n\ntwo and more\n\nthree").flat()[0]).toBe(first);
  });

  it("gives full parts unchanged, so that they are not drawn again", () => {
    const growing = new GrowingText();
    const paragraphs = Array.from({ length: 40 }, (_, index) => `paragraph ${index}\n\n`);
    const before = growing.parts(paragraphs.join(""));
    const after = growing.parts(`${paragraphs.join("")}more`);
    expect(before).toHaveLength(5);
    expect(after.map((part, index) => part === before[index])).toEqual([
      ...[true, true, true, true],
      ...[false, false],
    ]);
  });

  it("uses a link's definition in the blocks before it once the text is complete", () => {
    const text = "see [this][1]\n\nand\n\n[1]: https://a.example/\n";
    const growing = new GrowingText();
    growing.parts(text.slice(0, 20));
    const linked = (parts: readonly Token[][]) =>
      JSON.stringify(parts).includes('"href":"https://a.example/"');
    growing.parts(text.slice(0, 30));
    const [first] = growing.parts(text, true);
    expect(linked([first?.slice(0, 1) ?? []])).toBe(true);
  });

  it("starts over with another text", () => {
    const growing = new GrowingText();
    growing.parts("one\n\ntwo\n\nthree");
    expect(rawsOf(growing.parts("other"))).toEqual(["other"]);
  });
});
