import { Parser } from "htmlparser2";

/** Maximum depth of elements. The parser's time grows with the depth of each element. */
const maxDepth = 256;

/** Maximum length of the text that is collected, in characters. A link's address can be much longer in the text than in the page. */
const maxCollected = 1_000_000;

/** Maximum length of a link's address in the text, in characters. */
const maxAddress = 300;

/** A page's article counts as the whole page if it has this many characters. */
const minArticle = 200;

/** Elements without text to read: code, controls, and what surrounds an article. */
const skipped = new Set([
  ...[
    "script",
    "style",
    "noscript",
    "template",
    "svg",
    "math",
    "iframe",
    "object",
    "canvas",
    "video",
    "audio",
  ],
  ...["button", "select", "textarea", "nav", "footer", "aside", "dialog"],
]);

/** Elements that begin a line, and those that begin a paragraph. */
const lines = new Set(["div", "section", "header", "dt", "dd", "tr", "figcaption", "summary", "address"]);
const paragraphs = new Set([
  ...["p", "ul", "ol", "dl", "table", "pre", "blockquote", "figure", "article", "main", "hr", "details"],
  ...["h1", "h2", "h3", "h4", "h5", "h6"],
]);

/** What a page says. */
export interface PageText {
  /** Empty when the page has none. */
  title: string;
  /** Headings, lists, tables, code and links are written as in Markdown. */
  text: string;
}

/**
 * The readable text of an HTML page: its `main` or `article` elements, or all of it without navigation and controls. The time
 * is linear in the page's size, whatever it contains: what is nested more deeply than a page's text is omitted.
 * @param base the page's address, to which its links are relative
 */
export function pageText(html: string, base: string): PageText {
  const page = new TextBuilder(base);
  const parser = new Parser(
    {
      onopentag(name, attributes) {
        if (!page.open(name, attributes)) parser.pause();
      },
      onclosetag: (name) => page.close(name),
      ontext: (text) => page.add(text),
    },
    { decodeEntities: true },
  );
  parser.write(html);
  if (!page.isCut) parser.end();
  return page.built();
}

/** Collects the text between tags. */
class TextBuilder {
  readonly #base: string;
  readonly #parts: string[] = [];
  /** The parts that are in an article. */
  readonly #article: string[] = [];
  #title = "";
  #depth = 0;
  #articles = 0;
  #pre = 0;
  /** The depth of the outermost skipped element; 0 outside of one. */
  #skippedAt = 0;
  #isTitle = false;
  readonly #links: { depth: number; address: string; begin: number }[] = [];
  #length = 0;
  isCut = false;

  constructor(base: string) {
    this.#base = base;
  }

  /** @returns false when the rest of the page is not read */
  open(name: string, attributes: Readonly<Record<string, string>>): boolean {
    this.#depth++;
    if (this.#depth > maxDepth) return this.#cut("nested too deeply to be read");
    if (this.#length > maxCollected) return this.#cut("too long to be read");
    if (this.#skippedAt > 0) return true;
    const isHidden = "hidden" in attributes || attributes["aria-hidden"] === "true";
    if (skipped.has(name) || isHidden) {
      this.#skippedAt = this.#depth;
      return true;
    }
    if (name === "title" && this.#title === "") this.#isTitle = true;
    if (name === "main" || name === "article") this.#articles++;
    if (name === "pre") this.#pre++;
    if (name === "a") this.#openLink(attributes.href);
    this.#begin(name);
    return true;
  }

  close(name: string): void {
    if (this.#skippedAt === 0) {
      const link = this.#links.at(-1);
      if (name === "a" && link?.depth === this.#depth) {
        this.#links.pop();
        this.#closeLink(link);
      }
      if (name === "title") this.#isTitle = false;
      if (name === "pre") {
        this.#write("\n```");
        this.#pre--;
      }
      if (name === "td" || name === "th") this.#write(" | ");
      if (paragraphs.has(name)) this.#write("\n\n");
      else if (lines.has(name)) this.#write("\n");
      if (name === "main" || name === "article") this.#articles--;
    } else if (this.#skippedAt === this.#depth) this.#skippedAt = 0;
    this.#depth--;
  }

  add(text: string): void {
    if (this.#skippedAt > 0) return;
    if (this.#isTitle) this.#title += text;
    else this.#write(this.#pre > 0 ? text : text.replaceAll(/\s+/g, " "));
  }

  #cut(why: string): false {
    this.isCut = true;
    this.#write(`\n\n[the rest of the page is ${why}]`);
    return false;
  }

  built(): PageText {
    const article = tidy(this.#article.join(""));
    const text = article.length >= minArticle ? article : tidy(this.#parts.join(""));
    return { title: this.#title.replaceAll(/\s+/g, " ").trim(), text };
  }

  #openLink(href: string | undefined): void {
    const address =
      href !== undefined && URL.canParse(href, this.#base) ? new URL(href, this.#base) : undefined;
    const isShown =
      address !== undefined && /^https?:/.test(address.protocol) && address.href.length <= maxAddress;
    this.#links.push({
      depth: this.#depth,
      address: isShown ? address.href : "",
      begin: this.#parts.length,
    });
  }

  /** A link without a text, such as a picture's, is omitted. */
  #closeLink({ address, begin }: { address: string; begin: number }): void {
    const added = this.#parts.length - begin;
    const isEmpty = this.#parts.slice(begin).every((part) => part.trim() === "");
    if (address === "" || isEmpty) return;
    for (const parts of this.#articles > 0 ? [this.#parts, this.#article] : [this.#parts])
      parts.splice(parts.length - added, 0, "[");
    this.#write(`](${address})`);
  }

  #begin(name: string): void {
    const [, level] = /^h([1-6])$/.exec(name) ?? [];
    if (paragraphs.has(name)) this.#write("\n\n");
    else if (lines.has(name) || name === "br") this.#write("\n");
    if (level !== undefined) this.#write(`${"#".repeat(Number(level))} `);
    if (name === "li") this.#write("\n- ");
    if (name === "pre") this.#write("```\n");
  }

  #write(text: string): void {
    this.#length += text.length;
    this.#parts.push(text);
    if (this.#articles > 0) this.#article.push(text);
  }
}

/** Without blank space at the ends of lines, and with at most one empty line. */
function tidy(text: string): string {
  const ended = text.split("\n").map((line) => line.trimEnd());
  return ended
    .join("\n")
    .replaceAll(/\n{3,}/g, "\n\n")
    .trim();
}
