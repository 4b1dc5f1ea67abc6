import { groupLeaves, type Leaf, lineStyle, type Style, styleOf, textOf } from "./leaves.ts";

/** How a platform marks formatted text. */
export interface Marks {
  bold: string;
  italic: string;
  strike: string;
  /** The beginning of a heading's line; absent: it is bold. */
  heading?(depth: number): string;
  code(text: string): string;
  /** @param label as it is shown; `marked` with its marks */
  link(url: string, label: string, marked: string): string;
  /** Text that must be shown as it is. @param isLineStart it is at the beginning of a line */
  plain(text: string, isLineStart: boolean): string;
  /** Changes the styles of a line that the platform could not show. */
  prepare?(line: readonly Leaf[]): Leaf[];
  /** Whether the platform knows languages of code. */
  showsLanguage: boolean;
}

/** Text with a platform's marks. Every line has its own marks. */
export function markedText(leaves: readonly Leaf[], marks: Marks): string {
  const parts = groupLeaves(leaves, lineStyle).map(([style, group]) => {
    if (style?.kind === "pre")
      return fenced(textOf(group), marks.showsLanguage ? (style.language ?? "") : "");
    const begin = style?.kind === "heading" ? (marks.heading?.(style.depth) ?? "") : "";
    const lines = linesOf(group).map((line, index, all) => {
      // The quote ends or begins at a block of code.
      const isOutside = line.length === 0 && (index === 0 || index === all.length - 1);
      return (style?.kind === "quote" && !isOutside ? "> " : "") + markedLine(line, marks);
    });
    return begin + lines.join("\n");
  });
  return parts.join("");
}

function fenced(code: string, language: string): string {
  return `\`\`\`${language}\n${withoutFences(code)}\n\`\`\``;
}

/** Code in which an invisible space separates neighbouring backticks, so that they do not end it. */
export function withoutFences(code: string): string {
  return code.replace(/`(?=`)/g, "`\u200b");
}

/** Whether a link's label is its address. */
export function isAddress(label: string, url: string): boolean {
  return url === label || url === `mailto:${label}` || (URL.canParse(label) && new URL(label).href === url);
}

function linesOf(leaves: readonly Leaf[]): Leaf[][] {
  const lines: Leaf[][] = [[]];
  for (const leaf of leaves)
    for (const [index, text] of leaf.text.split("\n").entries()) {
      if (index > 0) lines.push([]);
      if (text !== "") lines.at(-1)?.push({ ...leaf, text });
    }
  return lines;
}

function markedLine(line: readonly Leaf[], marks: Marks): string {
  const prepared = marks.prepare?.(line) ?? line;
  return within(prepared, 0, marks, true);
}

/** The leaves of a line below the style at `depth`. */
function within(leaves: readonly Leaf[], depth: number, marks: Marks, isLineStart: boolean): string {
  let text = "";
  for (const [style, group] of groupLeaves(leaves, ({ styles }) => styles[depth])) {
    const isStart = isLineStart && text.trim() === "";
    const piece = style
      ? styled(text, style, group, marks, () => within(group, depth + 1, marks, isStart))
      : marks.plain(textOf(group), isStart);
    // Neighbouring backticks would be read as a fence.
    text += text.endsWith("`") && piece.startsWith("`") ? `\u200b${piece}` : piece;
  }
  return text;
}

/** @param before the line's text so far; `inside` gives the group's text with its inner marks */
function styled(
  before: string,
  style: Style,
  group: readonly Leaf[],
  marks: Marks,
  inside: () => string,
): string {
  if (style.kind === "marker") return textOf(group);
  if (style.kind === "code") return marks.code(textOf(group));
  return enclosed(before, style, inside(), group, marks);
}

function enclosed(
  before: string,
  style: Style,
  inside: string,
  group: readonly Leaf[],
  marks: Marks,
): string {
  const [, start = "", core = "", end = ""] = inside.match(/^(\s*)(.*?)(\s*)$/s) ?? [];
  if (core === "") return inside;
  if (style.kind === "link") return start + marks.link(style.url, textOf(group).trim(), core) + end;
  const mark = markOf(style, group, marks);
  // Neighbouring marks would be read as one.
  const isTogether =
    start === "" && mark !== "" && before.endsWith(mark.slice(-1)) && !before.endsWith(`\\${mark.slice(-1)}`);
  return isTogether ? inside : start + mark + core + mark + end;
}

function markOf(style: Style, group: readonly Leaf[], marks: Marks): string {
  if (style.kind === "heading")
    return marks.heading || group.some((leaf) => styleOf(leaf, "bold")) ? "" : marks.bold;
  return style.kind === "bold" || style.kind === "italic" || style.kind === "strike" ? marks[style.kind] : "";
}
