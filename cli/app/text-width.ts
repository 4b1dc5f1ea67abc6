import { printable } from "./printable.ts";

/** Created on first use, because that takes some 10 ms. */
let segmenter: Intl.Segmenter | undefined;
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}|\ufe0f/u;

/**
 * Max length of the text that the segmenter gets at once, in UTF-16 units: the time of each of its steps grows with
 * the length of the whole text. A longer character is split.
 */
const blockLength = 256;

/** The characters of a text, as people count them (grapheme clusters), each with its index. */
function* charactersOf(text: string): Generator<{ segment: string; index: number }> {
  segmenter ??= new Intl.Segmenter();
  for (let start = 0; start < text.length; ) {
    const block = text.slice(start, start + blockLength).replace(/[\ud800-\udbff]$/, "") || text.slice(start);
    const isLast = start + block.length === text.length;
    let end = 0;
    for (const { segment, index } of segmenter.segment(block)) {
      const next = index + segment.length;
      // The last character of a block may continue in the next block.
      if (next === block.length && index > 0 && !isLast) break;
      yield { segment, index: start + index };
      end = next;
    }
    start += end;
  }
}

/** Width of a text in terminal columns: two for an East Asian or emoji character, one for any other. */
export function textWidth(text: string): number {
  let width = 0;
  for (const { segment } of charactersOf(text)) width += widthOf(segment);
  return width;
}

function widthOf(character: string): number {
  return wide.test(character) ? 2 : 1;
}

/** Untrusted text as the chat draws it: `printable`, with four spaces per tab, because a tab's width varies. */
export function drawable(text: string): string {
  return printable(text).replace(/\t/g, "    ");
}

/**
 * Splits a line into rows of fewer than `columns` columns, at blanks where possible. `rest` is the last row. Linear in
 * the length of the line.
 */
export function wrapLine(line: string, columns: number): { rows: string[]; rest: string } {
  const rows: string[] = [];
  let start = 0;
  let width = 0;
  for (const { segment, index } of charactersOf(line)) {
    const next = index + segment.length;
    width += widthOf(segment);
    if (width < columns || index === start) continue;
    const blank = line.slice(start, index).lastIndexOf(" ");
    const end = blank > 0 ? start + blank : index;
    rows.push(line.slice(start, end));
    start = line[end] === " " ? end + 1 : end;
    width = textWidth(line.slice(start, next));
  }
  return { rows, rest: line.slice(start) };
}

/** The longest prefix of a text that fits in `columns` columns; at least one character. */
export function prefixWithin(text: string, columns: number): string {
  let width = 0;
  let end = 0;
  for (const { segment, index } of charactersOf(text)) {
    width += widthOf(segment);
    if (width > columns && index > 0) break;
    end = index + segment.length;
  }
  return text.slice(0, end);
}
