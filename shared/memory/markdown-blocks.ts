/** A paragraph, a list item or a table row. */
export interface MarkdownBlock {
  /** On one line. Of a table row: its cells after the headings of their columns. */
  text: string;
  /** Its first and last line, from 0 on. */
  first: number;
  last: number;
}

/** The start of a list item at any depth: `- `, `* `, `+ `, `1. ` or `1) `. */
export const itemStart = /^\s*(?:[-*+]|\d{1,9}[.)])\s+(?=\S)/;

const fence = /^\s*(?:```|~~~)/;
const heading = /^\s{0,3}#{1,6}(?:\s|$)/;
/** A rule, or the underline of a heading. */
const rule = /^\s{0,3}(?:=+|-+|(?:[-*_]\s*){3,})$/;
/** The line between the head and the rows of a table. */
const underHead = /^\|?(?:\s*:?-+:?\s*\|)+(?:\s*:?-+:?)?$/;

/** Whether a line looks like a table's row: it starts with a bar. */
export function isTableRow(line: string): boolean {
  return /^\s*\|/.test(line);
}

/** The table row with each cell struck out. @param end text at the end of its last cell */
export function strikeCells(row: string, end: string): string {
  const struck = row.replaceAll(/[^|]+/g, (cell) => (cell.trim() === "" ? cell : ` ~~${cell.trim()}~~ `));
  return struck.replace(/~~(?=[\s|]*$)/, `${end}~~`);
}

/** The blocks of a Markdown text in order, without code, headings and comments. A line may be longer than any paragraph. */
export function readMarkdown(content: string): MarkdownBlock[] {
  const blocks: MarkdownBlock[] = [];
  let open: MarkdownBlock | undefined;
  let head: string[] | undefined;
  let [isCode, isComment] = [false, false];
  const lines = content.split("\n");
  for (const [i, whole] of lines.entries()) {
    const line = whole.trim();
    const wasComment = isComment;
    isComment = !isCode && (isComment || line.startsWith("<!--")) && !line.endsWith("-->");
    const isFence = fence.test(whole);
    if (isFence) isCode = !isCode;
    const isOther = isFence || isCode || wasComment || isComment || line.startsWith("<!--");
    if (isOther || line === "" || heading.test(whole)) {
      open = undefined;
      head = undefined;
    } else if (rule.test(whole)) {
      // The paragraph above the underline of a heading is that heading.
      if (open && !itemStart.test(lines[open.first] ?? "") && /^\s*[=-]+\s*$/.test(whole)) blocks.pop();
      open = undefined;
    } else if (isTableRow(whole)) {
      open = undefined;
      if (underHead.test((lines[i + 1] ?? "").trim())) head = cellsOf(line);
      else if (!underHead.test(line)) blocks.push({ text: rowText(cellsOf(line), head), first: i, last: i });
    } else if (open && !itemStart.test(whole)) {
      open.text += ` ${line}`;
      open.last = i;
    } else {
      open = { text: whole.replace(itemStart, "").trim(), first: i, last: i };
      blocks.push(open);
    }
  }
  return blocks;
}

function cellsOf(row: string): string[] {
  return row
    .replace(/^\||\|$/g, "")
    .split("|")
    .map((cell) => cell.trim());
}

/** The cells of a row after their headings. Struck out when all of its cells are. */
function rowText(cells: readonly string[], head: readonly string[] = []): string {
  const isStruck = cells.every((cell) => cell === "" || /^~~.*~~$/.test(cell));
  const texts = cells.map((cell, i) => {
    const text = isStruck ? cell.slice(2, -2) : cell;
    return text === "" || !head[i] ? text : `${head[i]}: ${text}`;
  });
  const text = texts.filter((part) => part !== "").join(", ");
  return isStruck && text !== "" ? `~~${text}~~` : text;
}
