import { type Format, type Leaf, type Style, styleOf, textOf } from "../outbound/leaves.ts";
import { isAddress, type Marks, markedText, withoutFences } from "../outbound/marked-text.ts";

/** WhatsApp's marks (https://faq.whatsapp.com/539178204879377), which have no escapes. */
export const whatsappFormat: Format = {
  tableColumns: 32,
  bullet: "•",
  render: (leaves) => ({ text: markedText(leaves, marks) }),
};

const marks: Marks = {
  bold: "*",
  italic: "_",
  strike: "~",
  showsLanguage: false,
  code: (text) => (text.includes("`") ? monospace(withoutFences(text)) : `\`${text}\``),
  link: (url, label, marked) =>
    isAddress(label, url)
      ? label.replaceAll("`", "%60")
      : `${marked.replaceAll("``", "''")} (${url.replace(/^mailto:/, "")})`,
  // An invisible space keeps a line from being a quote.
  plain: (text, isLineStart) => (isLineStart ? text.replace(/^(\s*)>/, "$1\u200b>") : text),
  prepare: (line) => withLiteralMarks(withoutMarksInWords(line)),
};

/** Invisible spaces keep the code's own backticks from its marks. */
function monospace(code: string): string {
  return `\`\`\`${code.replace(/^(?=`)/, "\u200b").replace(/(?<=`)$/, "\u200b")}\`\`\``;
}

const markOf: Partial<Record<Style["kind"], string>> = { bold: "*", heading: "*", italic: "_", strike: "~" };

/** Marks work only around whole words, and not around a mark of the same kind. Other styles are dropped. */
function withoutMarksInWords(line: readonly Leaf[]): Leaf[] {
  const styles = new Set(line.flatMap((leaf) => leaf.styles));
  const dropped = new Set(
    [...styles].filter((style) => markOf[style.kind] !== undefined && !canMark(line, style)),
  );
  return line.map((leaf) => ({ ...leaf, styles: leaf.styles.filter((style) => !dropped.has(style)) }));
}

function canMark(line: readonly Leaf[], style: Style): boolean {
  const first = line.findIndex(({ styles }) => styles.includes(style));
  const last = line.findLastIndex(({ styles }) => styles.includes(style));
  const inside = textOf(line.slice(first, last + 1));
  const before = textOf(line.slice(0, first)) + inside.slice(0, inside.length - inside.trimStart().length);
  const after = inside.slice(inside.trimEnd().length) + textOf(line.slice(last + 1));
  if (/[\p{L}\p{N}]$/u.test(before) || /^[\p{L}\p{N}]/u.test(after)) return false;
  return !inside.includes(markOf[style.kind] ?? "");
}

/** Words whose own characters would be read as marks are shown as code. */
function withLiteralMarks(line: readonly Leaf[]): Leaf[] {
  const literal = line.filter(isLiteral);
  const text = textOf(literal);
  const read = ["*", "_", "~"].filter((mark) => opening(mark).test(text) && closing(mark).test(text));
  const isQuoted = (text.match(/`/g) ?? []).length > 1;
  if (read.length === 0 && !isQuoted) return [...line];
  return line.flatMap((leaf) => {
    if (!isLiteral(leaf)) return [leaf];
    const shown = isQuoted ? leaf.text.replaceAll("`", "'") : leaf.text;
    return shown.split(/(\S+)/).flatMap((word): Leaf[] => {
      if (word === "") return [];
      const isRead = read.some((mark) => opening(mark).test(word) || closing(mark).test(word));
      const styles: Style[] = isRead && !word.includes("`") ? [{ kind: "code" }] : [];
      return [{ text: word, styles: [...leaf.styles, ...styles] }];
    });
  });
}

function isLiteral(leaf: Leaf): boolean {
  return !styleOf(leaf, "code") && !styleOf(leaf, "link") && !styleOf(leaf, "marker");
}

const opening = (mark: string) => new RegExp(`(?<![\\p{L}\\p{N}])[${mark}](?=\\S)`, "u");
const closing = (mark: string) => new RegExp(`(?<=\\S)[${mark}](?![\\p{L}\\p{N}])`, "u");
