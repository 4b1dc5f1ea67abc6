/** Borders at which a text may be cut, best first: paragraphs, lines, words. */
const borders = [/\n[^\S\n]*\n/g, /\n/g, /\s/g];

/** White space removed at a cut. The next line keeps its indentation. */
const cutSpace = /^(?:[^\S\n]*\n)+|^[^\S\n]+/;

/**
 * Splits a text into parts of at most `limit` UTF-16 units (2 or more): at the last paragraph border that
 * fits, else at the last line border, else between words, else anywhere but inside a surrogate pair. Only
 * white space at the borders and at the end is dropped; a text of nothing else has no parts.
 */
export function splitText(text: string, limit: number): string[] {
  const parts: string[] = [];
  let rest = text;
  while (rest.length > limit) {
    const end = cutAt(rest, limit);
    parts.push(rest.slice(0, end));
    rest = rest.slice(end).replace(cutSpace, "");
  }
  parts.push(rest);
  return parts.map((part) => part.trimEnd()).filter((part) => part !== "");
}

function cutAt(rest: string, limit: number): number {
  // A border may start right after the last character that fits, and a paragraph border has two characters.
  const window = rest.slice(0, limit + 2);
  const first = Math.max(0, window.search(/\S/));
  for (const border of borders) {
    let end = 0;
    for (const { index } of window.matchAll(border)) if (index > first && index <= limit) end = index;
    if (end > 0) return end;
  }
  return isPair(rest, limit - 1) ? limit - 1 : limit;
}

function isPair(text: string, at: number): boolean {
  return /^[\uD800-\uDBFF][\uDC00-\uDFFF]$/.test(text.slice(at, at + 2));
}
