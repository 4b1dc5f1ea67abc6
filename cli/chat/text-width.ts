const segmenter = new Intl.Segmenter();
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}|\ufe0f/u;

/** Number of terminal columns of a text: two for each East Asian or emoji character, one for each other. */
export function textWidth(text: string): number {
  let width = 0;
  for (const { segment } of segmenter.segment(text)) width += wide.test(segment) ? 2 : 1;
  return width;
}

// biome-ignore-start lint/suspicious/noControlCharactersInRegex: these expressions remove control characters
/** Terminal escape sequences: CSI with its parameters, OSC with its text, and short escapes. */
const escapes =
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|\u001b[ -/]*[0-~]/g;
const controls = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/g;
// biome-ignore-end lint/suspicious/noControlCharactersInRegex: these expressions remove control characters

/** Removes escape sequences and control characters except line breaks. Tabs become four spaces. */
export function printable(text: string): string {
  const lines = text.replace(escapes, "").replace(/\r\n?/g, "\n").replace(/\t/g, "    ");
  return lines.replace(controls, "");
}

/**
 * Splits full rows of fewer than `columns` columns off the start of a line, at a blank where possible. `rest`
 * takes fewer than `columns` columns.
 */
export function wrapLine(line: string, columns: number): { rows: string[]; rest: string } {
  const rows: string[] = [];
  let rest = line;
  while (textWidth(rest) >= columns) {
    const fits = prefixWithin(rest, columns - 1);
    const blank = fits.lastIndexOf(" ");
    const end = blank > 0 ? blank : fits.length;
    rows.push(rest.slice(0, end));
    rest = rest.slice(end).replace(/^ /, "");
  }
  return { rows, rest };
}

/** The longest prefix of a text that fits in `columns` columns; at least one character. */
export function prefixWithin(text: string, columns: number): string {
  let width = 0;
  let end = 0;
  for (const { segment, index } of segmenter.segment(text)) {
    width += wide.test(segment) ? 2 : 1;
    if (width > columns && index > 0) break;
    end = index + segment.length;
  }
  return text.slice(0, end);
}
