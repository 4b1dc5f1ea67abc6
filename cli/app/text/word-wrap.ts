import { textWidth } from "./text-width.ts";

/** Part of a line within which a column must begin that the following rows keep to. */
const columnPart = 0.6;

/**
 * Breaks the lines of a text that are wider than a terminal, at their blanks. The further rows stand below the last
 * column that begins in the first 60 % of the line: a value below its name, a cell in its table, else the line's own
 * indentation. A word is never cut, so that addresses and tokens can be copied: the terminal breaks it.
 * @param columns width of the terminal
 */
export function wrapWords(text: string, columns: number): string {
  return text
    .split("\n")
    .map((line) => (widthOf(line) <= columns ? line : wrapLine(line, columns)))
    .join("\n");
}

function wrapLine(line: string, columns: number): string {
  const start = columnOf(line, columns);
  const indent = " ".repeat(widthOf(line.slice(0, start)));
  const [first = "", ...parts] = line.slice(start).split(/( +)/);
  const rows: string[] = [];
  let row = line.slice(0, start) + first;
  for (let index = 0; index < parts.length; index += 2) {
    const [blanks = "", word = ""] = parts.slice(index, index + 2);
    if (widthOf(row) + blanks.length + widthOf(word) <= columns) row += blanks + word;
    else {
      rows.push(row);
      row = indent + word;
    }
  }
  return [...rows, row].join("\n");
}

/** Where the text of a line begins that the further rows stand below: an index in the line. */
function columnOf(line: string, columns: number): number {
  const ends = [...line.matchAll(/^ *(?:[-•→⏵] )?|(?<=\S) {2,}(?=\S)/g)].map(
    ({ 0: gap, index }) => index + gap.length,
  );
  return ends.findLast((end) => widthOf(line.slice(0, end)) <= columns * columnPart) ?? 0;
}

function widthOf(text: string): number {
  return /^[\x20-\x7e]*$/.test(text) ? text.length : textWidth(text);
}
