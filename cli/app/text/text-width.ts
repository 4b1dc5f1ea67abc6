import { printable } from "../printable.ts";

/** Made at the first text that needs it: making it takes some 10 ms. */
let segmenter: Intl.Segmenter | undefined;
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}|\ufe0f/u;

/**
 * Longest text that the segmenter gets at once, in UTF-16 units: each of its steps takes a time that grows
 * with the whole text. A character of more units is cut.
 */
const blockLength = 256;

/** The characters of a text, as people count them, each with its place. */
function* charactersOf(text: string): Generator<{ segment: string; index: number }> {
  segmenter ??= new Intl.Segmenter();
  for (let start = 0; start < text.length; ) {
    const block = text.slice(start, start + blockLength).replace(/[\ud800-\udbff]$/, "") || text.slice(start);
    const isLast = start + block.length === text.length;
    let end = 0;
    for (const { segment, index } of segmenter.segment(block)) {
      const next = index + segment.length;
      // The last character of a block may go on in the next one.
      if (next === block.length && index > 0 && !isLast) break;
      yield { segment, index: start + index };
      end = next;
    }
    start += end;
  }
}

/** Number of terminal columns of a text: two for each East Asian or emoji character, one for each other. */
export function textWidth(text: string): number {
  let width = 0;
  for (const { segment } of charactersOf(text)) width += widthOf(segment);
  return width;
}

function widthOf(character: string): number {
  return wide.test(character) ? 2 : 1;
}

/** Text of others as the chat draws it: `printable`, with four spaces for a tab, whose width would depend on its column. */
export function drawable(text: string): string {
  return printable(text).replace(/\t/g, "    ");
}

/**
 * Splits full rows of fewer than `columns` columns off the start of a line, at a blank where possible. `rest`
 * takes fewer than `columns` columns. One pass: the time grows with the length of the line.
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
