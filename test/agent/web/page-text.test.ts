import { expect, it } from "vitest";
import { pageText } from "../../../functions/agent/web/page-text.ts";

const base = "https://example.org/news/";
const read = (html: string) => pageText(html, base).text;

it("a page's text has its headings, lists, tables, code and links", () => {
  const html = `<html><head><title>A &amp; B
    news</title><style>p {}</style></head><body><h1>Hello &amp; welcome</h1>
    <p>Read <a href="more?x=1">more <b>here</b></a>.<br>Now.</p><ul><li>one<li>two</ul>
    <table><tr><th>Name<th>Age</tr><tr><td>Zoe<td>7</tr></table><pre>  if (x)\n    y</pre></body></html>`;
  expect(pageText(html, base)).toEqual({
    title: "A & B news",
    text: `# Hello & welcome

Read [more here](https://example.org/news/more?x=1).
Now.

- one
- two

Name | Age |

Zoe | 7 |

\`\`\`
  if (x)
    y
\`\`\``,
  });
});

it("navigation, controls, scripts and hidden elements are left out, also with elements that are not closed", () => {
  expect(
    read(`<nav>menu <ul><li>x</nav><p>kept</p><script>var a = "<p>x";</script><button>buy</button>
      <div hidden>secret <b>order</b></div><span aria-hidden="true">icon</span><footer>imprint</footer><p>also</p>`),
  ).toBe("kept\n\nalso");
});

it("an article is the page, if it has some text", () => {
  const long = "word ".repeat(60).trim();
  expect(read(`<div>before</div><article><p>${long}</p></article><div>after</div>`)).toBe(long);
  expect(read("<p>before</p><main><p>short</p></main><p>after</p>")).toBe("before\n\nshort\n\nafter");
});

it("a link without a text, to a script or with an endless address is only its text", () => {
  expect(read('<a href="/x"><img src="y"></a>a')).toBe("a");
  expect(read('<a href="javascript:alert(1)">b</a> <a href="//[">c</a>')).toBe("b c");
  expect(read(`<a href="/${"x".repeat(400)}">d</a>`)).toBe("d");
});

it("a page that is nested too deeply is read as far as it is sensible", () => {
  expect(read(`<p>first${"<div>".repeat(100_000)}last`)).toBe(
    "first\n\n[the rest of the page is nested too deeply to be read]",
  );
});

it.each([
  ["elements that are not closed", "<p>"],
  ["links that are not closed", "<a href=x>"],
  ["ends of elements that were not begun", "</p>"],
  ["comments that are not closed", "<!--"],
  ["brackets", "[]("],
  ["attributes", "<a b "],
  ["lines", "<br>"],
  ["tables", "<table><td colspan=1000000>"],
])("the text of three million characters of %s is found at once", (_what, part) => {
  expect(read(part.repeat(3_000_000 / part.length)).length).toBeLessThan(3_100_000);
});
