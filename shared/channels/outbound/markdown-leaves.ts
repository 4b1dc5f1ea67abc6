import { lexer, type Token, type Tokens } from "marked";
import type { Format, Leaf, Style } from "./leaves.ts";
import { tableLeaves } from "./table-leaves.ts";

/** Longest address of a link; a longer one would not leave room for a message's text. */
const maxAddress = 1500;

/** What a platform shows: the columns of a table, and the bullet of a list. */
export type Shown = Pick<Format, "tableColumns" | "bullet">;

/** The formatted text of markdown. Nothing is left out except addresses that are too long. */
export function markdownLeaves(markdown: string, shown: Shown): Leaf[] {
  const top = lexer(markdown).map((token) =>
    token.type === "heading" ? heading(token as Tokens.Heading) : block(token, [], shown),
  );
  return merged(joined(top, "\n\n", []));
}

/** Neighbours with the same styles are one leaf. */
function merged(leaves: readonly Leaf[]): Leaf[] {
  const found: Leaf[] = [];
  for (const { text, styles } of leaves) {
    const last = found.at(-1);
    const isSame =
      last?.styles.length === styles.length && styles.every((style, index) => style === last.styles[index]);
    if (last && isSame) last.text += text;
    else found.push({ text, styles });
  }
  return found;
}

function joined(blocks: readonly Leaf[][], gap: string, styles: readonly Style[]): Leaf[] {
  const filled = blocks.filter((leaves) => leaves.length > 0);
  return filled.flatMap((leaves, index) => (index === 0 ? leaves : [{ text: gap, styles }, ...leaves]));
}

function heading({ depth, tokens }: Tokens.Heading): Leaf[] {
  return inlines(tokens, [{ kind: "heading", depth }]);
}

/** The blocks inside of a list or a quote. */
function inner(tokens: readonly Token[], styles: readonly Style[], shown: Shown): Leaf[] {
  return joined(
    tokens.map((token) => block(token, styles, shown)),
    "\n",
    styles,
  );
}

function block(token: Token, styles: readonly Style[], shown: Shown): Leaf[] {
  switch (token.type) {
    case "space":
    case "def":
    case "checkbox":
      return [];
    case "heading":
      return inlines(token.tokens ?? [], [...styles, { kind: "bold" }]);
    case "code": {
      const { text, lang = "" } = token as Tokens.Code;
      const [language] = lang.match(/^[\w+#.-]{1,30}(?!\S)/) ?? [];
      return text.trim() === ""
        ? []
        : [{ text, styles: [{ kind: "pre", ...(language ? { language } : {}) }] }];
    }
    case "blockquote":
      return quote(token as Tokens.Blockquote, styles, shown);
    case "list":
      return list(token as Tokens.List, styles, shown);
    case "table":
      return tableLeaves(token as Tokens.Table, (cell) => inlines(cell.tokens, styles), shown, styles);
    case "hr":
      return [{ text: "———", styles }];
    case "html":
      return [{ text: token.raw.trimEnd(), styles }].filter(({ text }) => text !== "");
    default:
      return "tokens" in token && token.tokens ? inlines(token.tokens, styles) : plain(token.raw, styles);
  }
}

/** No platform shows a quote in a quote. Code in a quote has no style of the quote. */
function quote({ tokens }: Tokens.Blockquote, styles: readonly Style[], shown: Shown): Leaf[] {
  const isInside = styles.some(({ kind }) => kind === "quote");
  return inner(tokens, isInside ? styles : [...styles, { kind: "quote" }], shown);
}

function list({ ordered, start, items, loose }: Tokens.List, styles: readonly Style[], shown: Shown): Leaf[] {
  const first = Number(start) || 1;
  return items.flatMap((item, index) => {
    const number = ordered ? `${first + index}. ` : `${shown.bullet} `;
    const box = item.task ? (item.checked ? "☑ " : "☐ ") : "";
    const content = inner(item.tokens, styles, shown);
    const between = loose && index > 0 ? "\n\n" : "\n";
    return [
      ...(index === 0 ? [] : [{ text: between, styles }]),
      { text: number, styles: [...styles, { kind: "marker" } as const] },
      ...(box ? [{ text: box, styles }] : []),
      ...(content[0]?.styles.some(({ kind }) => kind === "pre") ? [{ text: "\n", styles }] : []),
      ...indented(content, ordered ? 3 : 2),
    ];
  });
}

/** Indents all lines but the first, and not those of code, which a platform shows as a block of its own. */
function indented(leaves: readonly Leaf[], columns: number): Leaf[] {
  return leaves.map((leaf, index) => {
    if (leaf.styles.some(({ kind }) => kind === "pre")) return leaf;
    const isBeforeCode = leaves[index + 1]?.styles.some(({ kind }) => kind === "pre");
    const inside = isBeforeCode ? leaf.text.replace(/\n$/, "") : leaf.text;
    const text = inside.replaceAll("\n", `\n${" ".repeat(columns)}`) + leaf.text.slice(inside.length);
    return { ...leaf, text };
  });
}

function inlines(tokens: readonly Token[], styles: readonly Style[]): Leaf[] {
  return tokens.flatMap((token) => inline(token, styles));
}

function inline(token: Token, styles: readonly Style[]): Leaf[] {
  const within = (style: Style) => inlines(("tokens" in token && token.tokens) || [], [...styles, style]);
  switch (token.type) {
    case "strong":
      return within({ kind: "bold" });
    case "em":
      return within({ kind: "italic" });
    case "del":
      return within({ kind: "strike" });
    case "codespan":
      return [{ text: token.text, styles: [...styles, { kind: "code" }] }];
    case "br":
      return [{ text: "\n", styles }];
    case "checkbox":
      return [];
    case "link":
      return link(token.href, inlines(token.tokens ?? [], styles), styles);
    case "image": {
      const label = token.text === "" ? "image" : `image: ${token.text}`;
      return link(token.href, [{ text: label, styles }], styles);
    }
    case "html":
      return /^<br\s*\/?>$/i.test(token.raw) ? [{ text: "\n", styles }] : [{ text: token.raw, styles }];
    case "escape":
      return [{ text: token.text, styles }];
    default:
      return "tokens" in token && token.tokens ? inlines(token.tokens, styles) : plain(token.raw, styles);
  }
}

const schemes = ["https:", "http:", "mailto:"];

/** A link to the web or to a mail address. Another address follows the label as text. */
function link(href: string, label: readonly Leaf[], styles: readonly Style[]): Leaf[] {
  const url = URL.canParse(href) ? new URL(href) : undefined;
  const isInLink = styles.some(({ kind }) => kind === "link");
  if (href.length > maxAddress || isInLink) return [...label];
  if (url && schemes.includes(url.protocol) && url.href.length <= maxAddress) {
    const style: Style = { kind: "link", url: url.href };
    return label.map((leaf) => ({
      ...leaf,
      styles: [...styles, style, ...leaf.styles.slice(styles.length)],
    }));
  }
  const isTold = href === "" || label.some(({ text }) => text === href);
  return isTold ? [...label] : [...label, { text: ` (${href})`, styles }];
}

function plain(text: string, styles: readonly Style[]): Leaf[] {
  return text === "" ? [] : [{ text: decoded(text), styles }];
}

const entities: Readonly<Record<string, string>> = {
  ...{ amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'", nbsp: "\u00a0" },
};

function decoded(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|#39|nbsp);/g, (whole, name: string) => entities[name] ?? whole);
}
